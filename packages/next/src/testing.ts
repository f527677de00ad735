import { compileRoutes, type RouteInput } from '@sluice/core/http'
import { handlersBelow } from './testing/handlers.ts'
import { middlewareGap } from './testing/middleware.ts'
import { projectAt } from './testing/project.ts'

/** Options of `unprotectedRoutes` and `assertProtected`. */
export interface ProtectionOptions {
  /** The project's folder, with `next.config`, and `app` or `src/app` in it. @default '.' */
  readonly root?: string
  /** Only what serves a path below this one is looked at, such as `/api/ai`. */
  readonly under: string
  /** The `routes` given to `rateLimit`. */
  readonly routes: readonly RouteInput<never[]>[]
  /** As in `next.config`. @default what is written out there */
  readonly pageExtensions?: readonly string[]
}

/**
 * The paths below `under` that a request can reach uncounted: of route handlers, of `pages/api` and, in
 * an app with server functions, of pages. A handler is covered if `withRateLimit` is around each of its
 * methods, or if one of `routes` takes it and the project's middleware runs `rateLimit` for it, by its
 * own `config.matcher`. Needs `@babel/parser`. For your own tests, on Node.
 *
 * @throws Error When a file cannot be parsed, or a setting that Next.js wants written out is not.
 */
export function unprotectedRoutes(options: ProtectionOptions): string[] {
  return gaps(options).map(({ pattern }) => pattern)
}

/**
 * Throws, naming them, if there are paths below `under` that no limiter covers; and if nothing serves a
 * path there, because then it would prove nothing. For your own tests, on Node.
 *
 * @example
 * it('limits every AI route', () => {
 *   assertProtected({ under: '/api/ai', routes })
 * })
 */
export function assertProtected(options: ProtectionOptions): void {
  const { root = '.', under, pageExtensions } = options
  if (handlersBelow(projectAt(root, pageExtensions), under).length === 0) {
    throw new Error(`No route handler in ${root} serves a path below ${under}`)
  }
  const found = gaps(options).map(({ pattern, why }) => pattern + (why ? ` (${why})` : ''))
  if (found.length > 0) throw new Error(`No limiter covers ${found.join(', ')}`)
}

interface Gap {
  readonly pattern: string
  /** Reason for which the middleware does not limit what one of `routes` takes. */
  readonly why: string | undefined
}

function gaps({ root = '.', under, routes, pageExtensions }: ProtectionOptions): Gap[] {
  const match = compileRoutes(routes)
  const project = projectAt(root, pageExtensions)
  const gapAt = middlewareGap(project)
  return handlersBelow(project, under).flatMap(({ pattern, methods, paths }): Gap[] => {
    if (methods.length === 0) return []
    if (methods.some((method) => paths.some((path) => match(method, path) === undefined))) {
      return [{ pattern, why: undefined }]
    }
    const why = paths.map(gapAt).find((gap) => gap !== undefined)
    return why === undefined ? [] : [{ pattern, why }]
  })
}
