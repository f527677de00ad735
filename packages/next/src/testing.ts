import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileRoutes, type RouteInput } from '@sluice/core/http'

/** Options of `unprotectedRoutes` and `assertProtected`. */
export interface ProtectionOptions {
  /** The app's `app` folder. */
  readonly appDir: string
  /** Only routes below this path are looked at, such as `/api/ai`. */
  readonly under: string
  /** The `routes` given to `rateLimit`. */
  readonly routes: readonly RouteInput<never[]>[]
}

/**
 * The route handlers (`route.ts`, `.tsx`, `.js`, `.jsx`) that serve a path below `under` and that
 * neither one of `routes` nor `withRateLimit` covers, as paths. For your own tests, on Node.
 */
export function unprotectedRoutes({ appDir, under, routes }: ProtectionOptions): string[] {
  const match = compileRoutes(routes)
  return handlersBelow(appDir, under)
    .filter(({ methods, paths }) =>
      methods.some((method) => paths.some((path) => match(method, path) === undefined)),
    )
    .map(({ pattern }) => pattern)
}

/**
 * Throws, naming them, if there are route handlers below a path that no limiter covers; and if there
 * are none at all, because then it would prove nothing. For your own tests, on Node.
 *
 * @example
 * it('limits every AI route', () => {
 *   assertProtected({ appDir: 'app', under: '/api/ai', routes })
 * })
 */
export function assertProtected(options: ProtectionOptions): void {
  const { appDir, under } = options
  if (handlersBelow(appDir, under).length === 0) {
    throw new Error(`No route handler in ${appDir} serves a path below ${under}`)
  }
  const found = unprotectedRoutes(options)
  if (found.length > 0) throw new Error(`No limiter covers ${found.join(', ')}`)
}

interface Handler {
  /** The path as the folders have it. */
  readonly pattern: string
  /** The methods that `withRateLimit` is not around. */
  readonly methods: readonly string[]
  /** Paths that it serves, one of each kind. */
  readonly paths: readonly string[]
}

function handlersBelow(appDir: string, under: string): Handler[] {
  const prefix = under.split('/').filter((segment) => segment !== '')
  return filesIn(appDir, []).flatMap(({ file, segments }) => {
    const paths = served(segments, prefix).map((path) => `/${path.join('/')}`)
    if (paths.length === 0) return []
    const pattern = `/${segments.join('/')}`
    return [{ pattern, paths, methods: openMethods(readFileSync(file, 'utf8')) }]
  })
}

interface HandlerFile {
  readonly file: string
  readonly segments: readonly string[]
}

function filesIn(folder: string, segments: readonly string[]): HandlerFile[] {
  const entries = readdirSync(folder, { withFileTypes: true })
  return entries.flatMap((entry) => {
    const file = join(folder, entry.name)
    if (entry.isFile()) return /^route\.[jt]sx?$/.test(entry.name) ? [{ file, segments }] : []
    // A private folder (`_name`) has no routes; a group (`(name)`) and a slot (`@name`) no segment.
    if (!entry.isDirectory() || entry.name.startsWith('_')) return []
    if (/^(\(.*\)|@.*)$/.test(entry.name)) return filesIn(file, segments)
    // `%5F` is how a segment that begins with an underscore is written.
    return filesIn(file, [...segments, entry.name.replace(/^%5f/i, '_')])
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

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The methods a file exports outside `withRateLimit`; all of them where it does not name them. */
function openMethods(text: string): string[] {
  const exported = Array.from(text.matchAll(/^export\b[^=(\n]*/gm), ([names]) => names)
  const isOpaque = exported.some((names) => /\*|\{[^}]*$/.test(names))
  const named = METHODS.filter((method) => new RegExp(`\\b${method}\\b`).test(exported.join('\n')))
  const found = isOpaque || named.length === 0 ? METHODS : named
  return found.filter((method) => !isWrapped(method, text))
}

/** Whether a method is made by `withRateLimit`, or is another name of one that is. */
function isWrapped(method: string, text: string, depth = 0): boolean {
  const made = new RegExp(`^export const ${method}\\b[^=]*=\\s*(\\w+)`, 'm').exec(text)?.[1]
  if (made === 'withRateLimit') return true
  return made !== undefined && depth < METHODS.length && isWrapped(made, text, depth + 1)
}
