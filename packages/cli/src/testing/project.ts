import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { literal, type Value } from '../source/literal.ts'
import {
  nameOf,
  nodesIn,
  parseModule,
  type SourceFiles,
  type SourceModule,
} from '../source/module.ts'

export interface Project extends SourceFiles {
  /** The part of a path for the folder that has `app`, `pages` and the middleware: empty, or `src`. */
  readonly base: string
  /** The extensions of files that Next.js serves, without the first dot. */
  readonly extensions: readonly string[]
  /** Returns a file as a syntax tree. @throws Error When it cannot be parsed. */
  module(path: string): SourceModule
}

export function projectAt(folder: string, pageExtensions: readonly string[] | undefined): Project {
  const modules = new Map<string, SourceModule>()
  const files = {
    folder,
    has: (path: string) =>
      /\.[cm]?[jt]sx?$/.test(path) &&
      statSync(join(folder, path), { throwIfNoEntry: false })?.isFile() === true,
    module(path: string): SourceModule {
      const module = modules.get(path) ?? readModule(files, path)
      modules.set(path, module)
      return module
    },
  }
  const isRoot = ['app', 'pages'].some((name) => existsSync(join(folder, name)))
  const extensions = pageExtensions ?? readPageExtensions(files)
  return { ...files, base: isRoot ? '' : 'src', extensions }
}

function readModule(files: SourceFiles, path: string): SourceModule {
  const file = join(files.folder, path)
  try {
    return parseModule(files, path, readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`${file} cannot be parsed: ${String(error)}`, { cause: error })
  }
}

/** Returns the name without a page's extension, or `undefined` if the file is not a page. */
export function pageName({ extensions }: Project, file: string): string | undefined {
  const extension = extensions.find((candidate) => file.endsWith(`.${candidate}`))
  return extension === undefined ? undefined : file.slice(0, -extension.length - 1)
}

const ENDINGS = ['ts', 'mts', 'mjs', 'js', 'cjs']

/** Finds the settings of a name in the project's `next.config`: values of properties, and methods. */
export function settingsNamed(files: SourceFiles, name: string): Value[] {
  const path = ENDINGS.map((ending) => `next.config.${ending}`).find((file) => files.has(file))
  const module = path === undefined ? undefined : files.module(path)
  if (!module) return []
  return [...nodesIn(module.program)].flatMap((node) => {
    if (!/^Object(Property|Method)$/.test(node.type) || nameOf(node['key']) !== name) return []
    return [{ module, node: (node['value'] ?? node) as typeof node }]
  })
}

const DEFAULT_EXTENSIONS = ['tsx', 'ts', 'jsx', 'js']

function readPageExtensions(files: SourceFiles): readonly string[] {
  const [setting] = settingsNamed(files, 'pageExtensions')
  if (setting === undefined) return DEFAULT_EXTENSIONS
  const items = literal(setting.node)
  if (Array.isArray(items) && items.every((item) => typeof item === 'string')) return items
  throw new Error(
    `${fileOf(setting.module)}: pageExtensions must be a literal; otherwise pass it to this function, too`,
  )
}

export const fileOf = ({ files, path }: SourceModule): string => join(files.folder, path)
