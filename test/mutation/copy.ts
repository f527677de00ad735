/* A copy of the checkout, whose packages can be changed while the checkout is used. */
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

const LEFT_OUT = new Set([
  '.git',
  '.next',
  '.turbo',
  '.wrangler',
  'apps',
  'examples',
  'node_modules',
])

/** Copies the packages, as they are built, and their tests. Installed modules are links. Returns the folder. */
export function copyCheckout(root: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-mutation-'))
  cpSync(root, folder, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) })
  link(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const one of [
    'test',
    ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`),
  ]) {
    const modules = join(root, one, 'node_modules')
    if (readdirSync(join(root, one)).includes('node_modules'))
      link(modules, join(folder, one, 'node_modules'))
  }
  return folder
}

/** Links installed modules to those of the checkout, and packages of the workspace to those of the copy. */
function link(from: string, to: string): void {
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    const source = join(from, name)
    if (lstatSync(source).isSymbolicLink()) {
      const target = readlinkSync(source)
      if (!target.includes('/apps/')) symlinkSync(target, join(to, name))
    } else if (name.startsWith('@')) link(source, join(to, name))
    else if (!name.startsWith('.vite')) symlinkSync(source, join(to, name))
  }
}
