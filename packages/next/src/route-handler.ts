import { ConfigError, type Store } from '@sluice/core'
import {
  createGuard,
  createHandoff,
  HANDOFF_HEADER,
  Refusal,
  withHeaders,
  type GuardOptions,
  type LimiterSource,
  type ResolvedSubject,
} from '@sluice/core/http'
import { assertFunction, assertOptions } from '@sluice/core/validation'

/** Options of `withRateLimit`. */
export interface RouteLimitOptions extends GuardOptions<[routeContext: unknown]> {
  /** The limiter, or a function that makes it at the first request. */
  readonly limiter: LimiterSource<[routeContext: unknown]>
  /** What requests are counted as: the id (or, without one, the pattern) of this route in `rateLimit`. */
  readonly route: string
  /** The secret given to `rateLimit`. @default none: this wrapper decides by itself, always */
  readonly secret?: string | undefined
  /**
   * A store, or a function that makes it, in which all processes note the hand-offs that they took, so
   * that each is taken once. It costs one request to the store. @default each process notes its own
   */
  readonly singleUse?: Store | (() => Store) | undefined
}

/**
 * Rate limiting around one route handler: the enforcement point that no rewrite and no catch-all goes
 * around. Behind `rateLimit` with the same `secret` a request is charged once: the middleware signs
 * that it charged it, for this method, route, path and subject, for one use within five seconds. What a
 * client sends under that name is worth nothing.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export const POST = withRateLimit(evaluate, { limiter, route: 'evaluate', subject: tenantFromJwt })
 */
export function withRateLimit<HandledRequest extends Request, RouteContext = unknown>(
  handler: (request: HandledRequest, context: RouteContext) => Response | Promise<Response>,
  options: RouteLimitOptions,
): (request: HandledRequest, context: RouteContext) => Promise<Response> {
  assertFunction('handler', handler)
  assertOptions('withRateLimit', options)
  const { limiter, route, secret, singleUse, subject, ...guardOptions } = options
  const resolve = assertFunction('subject', subject)
  /** Whose the requests are whose hand-off was refused: that need not be found out again. */
  const resolved = new WeakMap<Request, { readonly subject: ResolvedSubject }>()
  if (typeof route !== 'string' || route === '') {
    throw new ConfigError('invalid_option', 'route', 'must be a non-empty string')
  }
  const guard = createGuard<[routeContext: unknown]>(limiter, {
    ...guardOptions,
    subject(request, context) {
      const found = resolved.get(request)
      resolved.delete(request)
      return found ? found.subject : resolve(request, context)
    },
  })
  const handoff = secret === undefined ? undefined : createHandoff(secret, { store: singleUse })

  async function isCharged(request: Request, context: unknown): Promise<boolean> {
    const value = request.headers.get(HANDOFF_HEADER)
    if (handoff === undefined || value === null) return false
    const found = await resolve(request, context)
    if (found && !(found instanceof Refusal)) {
      const terms = { method: request.method, route, path: pathOf(request), subject: found }
      if (await handoff.take(value, terms)) return true
    }
    resolved.set(request, { subject: found })
    return false
  }

  return async (request, context) => {
    const charged = await isCharged(request, context)
    forgetHandoff(request)
    if (charged) return handler(request, context)
    const outcome = await guard({ id: route, cost: undefined }, request, context)
    if (outcome.kind === 'refuse') return outcome.response
    const response = await handler(request, context)
    return outcome.kind === 'allow' ? withHeaders(response, outcome.headers) : response
  }
}

/** The path as middleware has it: as the client wrote it, but without the app's `basePath`. */
function pathOf({ url, nextUrl }: Request & { readonly nextUrl?: URL }): string {
  return (nextUrl ?? new URL(url)).pathname
}

/** A handler may send its request's headers on; this one is between middleware and wrapper only. */
function forgetHandoff({ headers }: Request): void {
  try {
    headers.delete(HANDOFF_HEADER)
  } catch {
    // Some platforms' requests cannot be changed; the value is used up all the same.
  }
}
