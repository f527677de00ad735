import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { moduleOf } from './module.ts'
import { exportOf, isMadeBy } from './origin.ts'
import { hasServerFunctions, pageName, type Project } from './project.ts'

/** Something that answers requests below a path. */
export interface Handler {
  /** The path as the folders have it. */
  readonly pattern: string
  /** The methods that `withRateLimit` is not around. */
  readonly methods: readonly string[]
  /** Paths that it serves, one of each kind. */
  readonly paths: readonly string[]
}

/** The handlers of `app` and `pages/api`, and pages if server functions can be sent to them. */
export function handlersBelow(project: Project, under: string): Handler[] {
  const prefix = under.split('/').filter((segment) => segment !== '')
  const files = [...appFiles(project), ...apiFiles(project)]
  let runsFunctions: boolean | undefined
  return files.flatMap(({ file, segments, kind }) => {
    const paths = served(segments, prefix).map((path) => `/${path.join('/')}`)
    if (paths.length === 0) return []
    if (kind === 'page' && !(runsFunctions ??= hasServerFunctions(project.root))) return []
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
    entriesOf(folder).flatMap(({ name, file, isFolder }) => {
      const kind = pageName(project, name)
      if (!isFolder) return kind === 'route' || kind === 'page' ? [{ file, segments, kind }] : []
      // A private folder (`_name`) has no routes; a group (`(name)`) and a slot (`@name`) no segment.
      if (name.startsWith('_')) return []
      if (/^(\(.*\)|@.*)$/.test(name)) return filesIn(file, segments)
      // `%5F` is how a segment that begins with an underscore is written.
      return filesIn(file, [...segments, name.replace(/^%5f/i, '_')])
    })
  return filesIn(join(project.folder, 'app'), [])
}

function apiFiles(project: Project): HandlerFile[] {
  const filesIn = (folder: string, segments: readonly string[]): HandlerFile[] =>
    entriesOf(folder).flatMap(({ name, file, isFolder }) => {
      const page = isFolder ? name : pageName(project, name)
      if (page === undefined) return []
      // Of the folder itself, only what serves `/api` is of interest.
      if (segments.length === 0 && page !== 'api') return []
      if (isFolder) return filesIn(file, [...segments, name])
      return [{ file, segments: page === 'index' ? segments : [...segments, page], kind: 'api' }]
    })
  return filesIn(join(project.folder, 'pages'), [])
}

interface FolderEntry {
  readonly name: string
  readonly file: string
  readonly isFolder: boolean
}

/** What is in a folder, links followed; nothing if there is no such folder. */
function entriesOf(folder: string): FolderEntry[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder).flatMap((name) => {
    const file = join(folder, name)
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? [{ name, file, isFolder: found.isDirectory() }] : []
  })
}

/**
 * Paths below `prefix` that a folder's pattern serves: a dynamic segment takes the prefix's where it
 * stands in its place, and a catch-all takes one segment and several.
 */
function served(pattern: readonly string[], prefix: readonly string[]): string[][] {
  const [segment, ...rest] = pattern
  const [wanted, ...others] = prefix
  if (segment === undefined) return wanted === undefined ? [[]] : []
  if (segment.includes('[...')) {
    const longer = [
      [...prefix, 'x'],
      [...prefix, 'x', 'y', 'z'],
    ]
    const isServedItself = prefix.length > 0 || segment.startsWith('[[')
    return isServedItself ? [[...prefix], ...longer] : longer
  }
  const isDynamic = segment.startsWith('[')
  if (!isDynamic && wanted !== undefined && segment !== wanted) return []
  const own = isDynamic ? (wanted ?? 'x') : segment
  return served(rest, others).map((path) => [own].concat(path))
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The methods that a file serves outside `withRateLimit`; all of them where it does not name them. */
function openMethods({ root }: Project, file: string, kind: 'route' | 'api'): readonly string[] {
  const module = moduleOf(file, root)
  const isWrapped = (name: string): boolean => {
    const value = exportOf(module, name)
    return value !== undefined && isMadeBy('withRateLimit', value)
  }
  if (kind === 'api') return isWrapped('default') ? [] : METHODS
  const named = METHODS.filter((method) => module.exports.has(method))
  const found = module.isOpaque || named.length === 0 ? METHODS : named
  return found.filter((method) => !isWrapped(method))
}
