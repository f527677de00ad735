import { execFile } from 'node:child_process'
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { isOurs } from './public-packages.ts'

type Named = Readonly<Record<string, string>>

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)
/** The Node.js of npm's scripts, which the tool for versions needs. */
const NODE = join(root, 'node_modules/.bin/node')
const CHANGESET = join(root, 'node_modules/@changesets/cli/bin.js')

let folder: string

/** A copy of the workspace's manifests, in which the core has a fix that is released. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-versions-'))
  const pages = globSync('{packages,apps}/*/{package.json,CHANGELOG.md}', { cwd: root })
  for (const path of [...pages, 'package.json', 'package-lock.json', '.changeset/config.json']) {
    cpSync(join(root, path), join(folder, 'workspace', path))
  }
  const cwd = join(folder, 'workspace')
  writeFileSync(join(cwd, '.changeset/fix.md'), '---\n"@sluice/core": patch\n---\n\nA fix.\n')
  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd })
  await git('init', '--quiet', '--initial-branch=main')
  await git('add', '--all')
  await git('commit', '--quiet', '--message=The manifests')
  await run(NODE, [CHANGESET, 'version'], { cwd })
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('a release of one package raises all, and what they name of each other', () => {
  const manifests = globSync('packages/*/package.json', { cwd: join(folder, 'workspace') })
  expect(manifests.length).toBeGreaterThan(10)
  for (const path of manifests) {
    const before = versionsIn(join(root, path))
    const after = versionsIn(join(folder, 'workspace', path))
    expect(new Set(before).size).toBe(1)
    expect(new Set(after).size).toBe(1)
    expect(after).toHaveLength(before.length)
    expect(after[0]).not.toBe(before[0])
  }
})

it.each([
  ['a newer', 'an older'],
  ['an older', 'a newer'],
])('npm refuses %s package on %s core', { timeout: 120_000 }, async (age) => {
  const released = join(folder, 'workspace')
  const [core, other] = age === 'a newer' ? [root, released] : [released, root]
  const packed = [
    await pack(join(core, 'packages/core')),
    await pack(join(other, 'packages/usage')),
  ]
  const cwd = join(folder, `app with ${age}`)
  mkdirSync(cwd)
  writeFileSync(join(cwd, 'package.json'), '{"private":true}')
  const flags = [
    '--loglevel=error',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
  ]
  const { stderr } = await run('npm', ['install', ...flags, ...packed], { cwd }).catch(
    (error: { stderr: string }) => error,
  )
  expect(stderr).toContain('ERESOLVE')
  expect(stderr).toMatch(/peer @sluice\/core@"\d+\.\d+\.\d+" from @sluice\/usage/)
})

/** Returns the version of a package, and those that it names of ours. */
function versionsIn(path: string): string[] {
  const { version, dependencies, peerDependencies } = JSON.parse(readFileSync(path, 'utf8')) as {
    version: string
    dependencies?: Named
    peerDependencies?: Named
  }
  const named = Object.entries({ ...dependencies, ...peerDependencies })
  return [version, ...named.filter(([name]) => isOurs(name)).map(([, range]) => range)]
}

async function pack(cwd: string): Promise<string> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', args, { cwd })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  return join(folder, filename)
}
