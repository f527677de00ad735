import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { exportedValue, valueOf } from '../source/literal.ts'
import { nodesIn, type SourceModule } from '../source/module.ts'
import { isCallOf } from './limited-function.ts'
import { pageName, type Project } from './project.ts'

export interface Handler {
  /** The path, as the folders write it. */
  readonly pattern: string
  /** The methods that `withRateLimit` does not wrap. */
  readonly methods: readonly string[]
  /** Examples of the paths that it serves, one of each kind. */
  readonly paths: readonly string[]
}

/** Finds the handlers of `app` and `pages/api`, and pages if the project has server functions. */
export function handlersBelow(project: Project, under: string): Handler[] {
  const prefix = under.split('/').filter((segment) => segment !== '')
  const files = [...appFiles(project), ...apiFiles(project)]
  let runsFunctions: boolean | undefined
  return files.flatMap(({ file, segments, kind }) => {
    const paths = servedPaths(segments, prefix).map((path) => `/${path.join('/')}`)
    if (paths.length === 0) return []
    if (kind === 'page' && !(runsFunctions ??= hasServerFunctions(project))) return []
    const methods = kind === 'page' ? ['POST'] : openMethods(project, file, kind)
    return [{ pattern: `/${segments.join('/')}`, paths, methods }]
  })
}

interface HandlerFile {
  readonly file: string
  readonly segments: readonly string[]
  readonly kind: 'route' | 'page' | 'api'
}

function appFiles(project: Project): HandlerFile[] {
  const filesIn = (folder: string, segments: readonly string[]): HandlerFile[] =>
    entriesOf(project, folder).flatMap(({ name, file, isFolder }) => {
      const kind = pageName(project, name)
      if (!isFolder) return kind === 'route' || kind === 'page' ? [{ file, segments, kind }] : []
      // A private folder (`_name`) has no routes. A group (`(name)`) or a slot (`@name`) adds no segment.
      if (name.startsWith('_')) return []
      if (/^(\(.*\)|@.*)$/.test(name)) return filesIn(file, segments)
      // A segment that begins with an underscore is written with `%5F`.
      return filesIn(file, [...segments, name.replace(/^%5f/i, '_')])
    })
  return filesIn(join(project.base, 'app'), [])
}

function apiFiles(project: Project): HandlerFile[] {
  const filesIn = (folder: string, segments: readonly string[]): HandlerFile[] =>
    entriesOf(project, folder).flatMap(({ name, file, isFolder }) => {
      const page = isFolder ? name : pageName(project, name)
      if (page === undefined) return []
      // At the top, only `api` is relevant.
      if (segments.length === 0 && page !== 'api') return []
      if (isFolder) return filesIn(file, [...segments, name])
      return [{ file, segments: page === 'index' ? segments : [...segments, page], kind: 'api' }]
    })
  return filesIn(join(project.base, 'pages'), [])
}

interface FolderEntry {
  readonly name: string
  readonly file: string
  readonly isFolder: boolean
  readonly isLink: boolean
}

/** Lists a folder: other folders and regular files, links to them as well. Returns nothing for a missing folder. */
function entriesOf(project: Project, folder: string): FolderEntry[] {
  const path = join(project.folder, folder)
  if (!existsSync(path)) return []
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry
    const isLink = entry.isSymbolicLink()
    const target = isLink ? statSync(join(path, name), { throwIfNoEntry: false }) : entry
    const isFolder = target?.isDirectory() === true
    // A pipe may never end.
    return isFolder || target?.isFile()
      ? [{ name, file: join(folder, name), isFolder, isLink }]
      : []
  })
}

/**
 * Returns examples of the paths below `prefix` that a folder's pattern serves. A dynamic segment gets the
 * value of the prefix at its position. A catch-all is tried with one segment and with several.
 */
function servedPaths(pattern: readonly string[], prefix: readonly string[]): string[][] {
  const [segment, ...rest] = pattern
  const [expected, ...others] = prefix
  if (segment === undefined) return expected === undefined ? [[]] : []
  if (segment.includes('[...')) {
    const longer = [
      [...prefix, 'x'],
      [...prefix, 'x', 'y', 'z'],
    ]
    const isServedItself = prefix.length > 0 || segment.startsWith('[[')
    return isServedItself ? [[...prefix], ...longer] : longer
  }
  const isDynamic = segment.startsWith('[')
  if (!isDynamic && expected !== undefined && segment !== expected) return []
  const value = isDynamic ? (expected ?? 'x') : segment
  return servedPaths(rest, others).map((path) => [value].concat(path))
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Lists the methods of a file that `withRateLimit` does not wrap. Without named methods, all count. */
function openMethods(project: Project, file: string, kind: 'route' | 'api'): readonly string[] {
  const module = project.module(file)
  const isWrapped = (name: string): boolean => {
    const value = exportedValue(module, name)
    return value !== undefined && isCallOf('withRateLimit', valueOf(value.module, value.node))
  }
  if (kind === 'api') return isWrapped('default') ? [] : METHODS
  const named = METHODS.filter((method) => module.exports.has(method))
  const methods = module.exports.has('*') || named.length === 0 ? METHODS : named
  return methods.filter((method) => !isWrapped(method))
}

const hasServerFunctions = (project: Project, folder = ''): boolean =>
  entriesOf(project, folder).some(({ name, file, isFolder, isLink }) => {
    if (isFolder) {
      return !isLink && !/^(\.|node_modules$)/.test(name) && hasServerFunctions(project, file)
    }
    if (!/\.[cm]?[jt]sx?$/.test(name)) return false
    const text = readFileSync(join(project.folder, file), 'utf8')
    return text.includes('use server') && declaresServer(project.module(file))
  })

const declaresServer = ({ program }: SourceModule): boolean =>
  [...nodesIn(program)].some(({ type, value }) => {
    const text = (value as { value?: unknown } | undefined)?.value
    return type === 'Directive' && text === 'use server'
  })
