import { ConfigError, type Store } from '@sluice/core'
import {
  createGuard,
  createHandoff,
  HANDOFF_HEADER,
  Refusal,
  withHeaders,
  type GuardOptions,
  type LimiterSource,
} from '@sluice/core/http'
import { assertFunction, assertOptions } from '@sluice/core/validation'

/** Options of `withRateLimit`. */
export interface RouteLimitOptions extends GuardOptions<[routeContext: unknown]> {
  /** The limiter, or a function that creates it at the first request. */
  readonly limiter: LimiterSource<[routeContext: unknown]>
  /** The id that requests are counted under: the id (or, without one, the pattern) of this route in `rateLimit`. */
  readonly route: string
  /** The `secret` of `rateLimit`. @default none: this wrapper charges every request */
  readonly secret?: string | undefined
  /**
   * A store, or a function that creates it, in which all processes record the hand-offs that were used,
   * so that each is used once. It costs one request to the store, and needs a `secret`.
   *
   * @default each process remembers its own
   */
  readonly singleUse?: Store | (() => Store) | undefined
}

/**
 * Limits one route handler. No rewrite and no catch-all leads around this check. Behind `rateLimit` with
 * the same `secret` a request is charged once: the middleware signs that it has charged the request, for
 * this method, route, path and subject, for one use within five seconds. A value that a client forges
 * is ignored.
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
  const { limiter, route, secret, singleUse, ...guardOptions } = options
  if (typeof route !== 'string' || route === '') {
    throw new ConfigError('invalid_option', 'route', 'must be a non-empty string')
  }
  // Only if it is left out: in a build, a variable that holds it may be undefined.
  if (singleUse !== undefined && !('secret' in options)) {
    throw new ConfigError('invalid_option', 'singleUse', 'must be set together with "secret"')
  }
  const guard = createGuard<[routeContext: unknown]>(limiter, guardOptions)
  const handoff = secret === undefined ? undefined : createHandoff(secret, { store: singleUse })

  async function isCharged(request: Request, context: unknown): Promise<boolean> {
    const value = request.headers.get(HANDOFF_HEADER)
    if (handoff === undefined || value === null) return false
    const subject = async () => {
      const resolved = await guardOptions.subject(request, context)
      return resolved instanceof Refusal ? undefined : resolved
    }
    return handoff.take(value, { method: request.method, route, path: pathOf(request), subject })
  }

  return async (request, context) => {
    const charged = await isCharged(request, context)
    removeHandoff(request)
    if (charged) return handler(request, context)
    const outcome = await guard({ id: route, cost: undefined }, request, context)
    if (outcome.kind === 'refuse') return outcome.response
    const response = await handler(request, context)
    return outcome.kind === 'allow' ? withHeaders(response, outcome.headers) : response
  }
}

/** The path as middleware sees it: as the client wrote it, without the app's `basePath`. */
function pathOf({ url, nextUrl }: Request & { readonly nextUrl?: URL }): string {
  return (nextUrl ?? new URL(url)).pathname
}

/** Removes the hand-off, in case the handler forwards the headers of its request. */
function removeHandoff({ headers }: Request): void {
  try {
    headers.delete(HANDOFF_HEADER)
  } catch {
    // Some platforms' requests cannot be changed; the hand-off is used up all the same.
  }
}
