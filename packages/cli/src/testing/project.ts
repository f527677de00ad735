import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { bare, isBinding, literal, propertyOf, valueOf, type Value } from '../source/literal.ts'
import {
  nameOf,
  nodes,
  nodesIn,
  parseModule,
  type Node,
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

// The first of them is the one that Next.js loads.
const ENDINGS = ['js', 'mjs', 'ts', 'mts']

/**
 * Finds a setting in the project's `next.config`. A configuration that is not one literal object, or that other code of
 * its file may change, counts as one whose settings are not written out.
 *
 * @throws Error When the setting may be one that is not written out.
 */
export function settingOf(files: SourceFiles, name: string): Value | undefined {
  const path = ENDINGS.map((ending) => `next.config.${ending}`).find((file) => files.has(file))
  const module = path === undefined ? undefined : files.module(path)
  if (!module) return undefined
  const exported = module.exports.get('default') ?? assignedExport(module)
  const config = exported && !isBinding(exported) ? valueOf(module, exported) : undefined
  const isWhole = config?.module === module && !mayChange(module, config.node)
  const { node, isCertain } = propertyOf(isWhole ? config.node : module.program, name)
  if (!isCertain) throw notLiteral(module, name)
  return node && { module, node }
}

export const notLiteral = (module: SourceModule, name: string): Error =>
  new Error(`${fileOf(module)}: ${name} must be literal; otherwise pass it to this function, too`)

/** Returns the value of `module.exports = value`. */
function assignedExport({ program }: SourceModule): Node | undefined {
  const assignments = nodes(program['body']).map(({ expression }) => (expression ?? {}) as Node)
  const found = assignments.find(
    ({ type, left }) =>
      type === 'AssignmentExpression' &&
      nameOf((left as Node)['object']) === 'module' &&
      nameOf((left as Node)['property']) === 'exports',
  )
  return found?.['right'] as Node | undefined
}

/** Returns true if a file uses an object outside of itself for more than its declaration and its export. */
function mayChange({ program, constants }: SourceModule, object: Node): boolean {
  const inside = new Set(nodesIn(object))
  const outside = [...nodesIn(program)].filter((node) => !inside.has(node)).map(nameOf)
  const own = [...constants.entries()].filter(([, init]) => inside.has(bare(init)))
  const uses = [...own.map(([name]) => [name, 2] as const), ['module', 1], ['exports', 1]] as const
  return uses.some(([name, most]) => outside.filter((other) => other === name).length > most)
}

const DEFAULT_EXTENSIONS = ['tsx', 'ts', 'jsx', 'js']

function readPageExtensions(files: SourceFiles): readonly string[] {
  const setting = settingOf(files, 'pageExtensions')
  if (setting === undefined) return DEFAULT_EXTENSIONS
  const items = literal(setting.node)
  if (Array.isArray(items) && items.every((item) => typeof item === 'string')) return items
  throw notLiteral(setting.module, 'pageExtensions')
}

export const fileOf = ({ files, path }: SourceModule): string => join(files.folder, path)
