import { compileRoutes, type RouteInput } from '@sluice/core/http'
import { handlersBelow } from './handlers.ts'
import { middlewareGap } from './middleware.ts'
import { projectAt } from './project.ts'
import { aliasOf, readRewrites, type Rewrite } from './rewrites.ts'

/** Options of `unprotectedRoutes` and `assertProtected`. */
export interface ProtectionOptions {
  /** The project's folder, with `next.config`, and `app` or `src/app` in it. @default '.' */
  readonly root?: string
  /** The path below which handlers are checked, such as `/api/ai`. */
  readonly under: string
  /** The `routes` of `rateLimit`. */
  readonly routes: readonly RouteInput<never[]>[]
  /** The `pageExtensions` of `next.config`. @default those written out there */
  readonly pageExtensions?: readonly string[]
  /** The `rewrites` of `next.config`. @default those written out there */
  readonly rewrites?: readonly { readonly source: string; readonly destination: string }[]
}

/**
 * Lists the paths below `under` that a request can reach uncounted: paths of route handlers, of
 * `pages/api` and, in an app with server functions, of pages. A handler is covered if `withRateLimit`
 * wraps each of its methods, or if one of `routes` matches it and the project's middleware runs
 * `rateLimit` for it, according to its `config.matcher`, and for each path that a rewrite of `next.config`
 * leads to it from. For your own tests, on Node.
 *
 * @throws Error When a file cannot be parsed, or a setting that Next.js needs written out is not.
 */
export const unprotectedRoutes = (options: ProtectionOptions): string[] =>
  findGaps(options).gaps.map(({ pattern }) => pattern)

/**
 * Throws an error that names the paths below `under` that no limiter covers. Also throws if nothing
 * serves a path there, because the test would prove nothing. For your own tests, on Node.
 *
 * @throws Error When a path is not covered, nothing is served, or a file cannot be parsed.
 * @example
 * it('limits every AI route', () => {
 *   assertProtected({ under: '/api/ai', routes })
 * })
 */
export function assertProtected(options: ProtectionOptions): void {
  const { handlers, gaps } = findGaps(options)
  if (handlers === 0) {
    throw new Error(
      `No route handler in ${options.root ?? '.'} serves a path below ${options.under}`,
    )
  }
  if (gaps.length === 0) return
  const list = gaps.map(({ pattern, why }) => pattern + (why ? ` (${why})` : ''))
  throw new Error(`No limiter covers ${list.join(', ')}`)
}

interface Gap {
  readonly pattern: string
  /** The reason for which the middleware does not limit a handler that `routes` match. */
  readonly why: string | undefined
}

function findGaps(options: ProtectionOptions): { handlers: number; gaps: Gap[] } {
  const project = projectAt(options.root ?? '.', options.pageExtensions)
  const handlers = handlersBelow(project, options.under)
  const match = compileRoutes(options.routes)
  const gapAt = middlewareGap(project)
  let rewrites: readonly Rewrite[] | undefined
  const gaps = handlers.flatMap(({ pattern, methods, paths }): Gap[] => {
    if (methods.length === 0) return []
    if (methods.some((method) => paths.some((path) => match(method, path) === undefined))) {
      return [{ pattern, why: undefined }]
    }
    rewrites ??= options.rewrites ?? readRewrites(project)
    const isOpen = (path: string): boolean =>
      gapAt(path) !== undefined || methods.some((method) => match(method, path) === undefined)
    const why =
      paths.map(gapAt).find((gap) => gap !== undefined) ?? openAlias(rewrites, paths, isOpen)
    return why === undefined ? [] : [{ pattern, why }]
  })
  return { handlers: handlers.length, gaps }
}

/** Returns the reason for which a rewrite leads to a handler around the middleware, if one does. */
function openAlias(
  rewrites: readonly Rewrite[],
  paths: readonly string[],
  isOpen: (path: string) => boolean,
): string | undefined {
  const open = rewrites.find((rewrite) =>
    paths.some((path) => {
      const alias = aliasOf(rewrite, path)
      return alias !== undefined && isOpen(alias)
    }),
  )
  return (
    open && `the rewrite of ${open.source} leads around the middleware: wrap it in withRateLimit`
  )
}
