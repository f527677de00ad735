import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { settingsNamed } from './config-file.ts'
import { literal } from './literal.ts'
import { moduleOf, nodesIn, type Module } from './module.ts'

/** A Next.js project on disk. */
export interface Project {
  readonly root: string
  /** The folder that `app`, `pages` and the middleware are in: the root, or `src` in it. */
  readonly folder: string
  /** The extensions of files that Next.js serves, without the first dot. */
  readonly extensions: readonly string[]
}

/** Finds the folders and extensions of the project at `root`. */
export function projectAt(root: string, pageExtensions: readonly string[] | undefined): Project {
  const isRoot = ['app', 'pages'].some((name) => existsSync(join(root, name)))
  const folder = isRoot ? root : join(root, 'src')
  return { root, folder, extensions: pageExtensions ?? readPageExtensions(root) }
}

/** Returns the name without a page's extension, or `undefined` if the file is not a page. */
export function pageName({ extensions }: Project, file: string): string | undefined {
  const extension = extensions.find((candidate) => file.endsWith(`.${candidate}`))
  return extension === undefined ? undefined : file.slice(0, -extension.length - 1)
}

const DEFAULT_EXTENSIONS = ['tsx', 'ts', 'jsx', 'js']

/** Reads the `pageExtensions` of the project's configuration. */
function readPageExtensions(root: string): readonly string[] {
  const [setting] = settingsNamed(root, 'pageExtensions')
  if (setting === undefined) return DEFAULT_EXTENSIONS
  const items = literal(setting.node)
  if (Array.isArray(items) && items.every((item) => typeof item === 'string')) return items
  throw new Error(
    `${setting.module.file}: pageExtensions must be a literal; otherwise pass it to this function, too`,
  )
}

/** Returns true if the project contains a server function. */
export function hasServerFunctions(root: string, folder: string = root): boolean {
  return readdirSync(folder, { withFileTypes: true }).some((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      return !/^(\.|node_modules$)/.test(entry.name) && hasServerFunctions(root, path)
    }
    if (!/\.[cm]?[jt]sx?$/.test(entry.name)) return false
    return readFileSync(path, 'utf8').includes('use server') && declaresServer(moduleOf(path, root))
  })
}

function declaresServer({ program }: Module): boolean {
  for (const node of nodesIn(program)) {
    const { value } = node as { value?: { value?: unknown } }
    if (node.type === 'Directive' && value?.value === 'use server') return true
  }
  return false
}
