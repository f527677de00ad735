import type { NextRequest } from 'next/server.js'
import type { Store, Subject } from '@sluice/core'
import {
  createGuard,
  Refusal,
  respond,
  type GuardOptions,
  type LimiterSource,
} from '@sluice/core/http'
import { createHandoff, HANDOFF_HEADER, limiterFrom } from '@sluice/core/internal/http'
import { assertFunction, assertOptions, invalidOption } from '@sluice/core/internal'
import { guardOfTheRest } from './charged-requests.ts'
import { doubleChargeReporter, mismatchReporter } from './handoff-reports.ts'

/** Options of `withRateLimit`. */
export interface RouteLimitOptions extends GuardOptions<[routeContext: unknown], NextRequest> {
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
 * is ignored. With `cost: reserving(…)`, what the middleware has not charged is reserved: all but the requests.
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
    throw invalidOption('route', 'must be a non-empty string')
  }
  // Only if it is left out: in a build, a variable that holds it may be undefined.
  if (singleUse !== undefined && !('secret' in options)) {
    throw invalidOption('singleUse', 'must be set together with "secret"')
  }
  const limiterFor = limiterFrom('limiter', limiter)
  const guard = createGuard<[routeContext: unknown], NextRequest>(limiterFor, guardOptions)
  const guardRest = guardOfTheRest(limiterFor, guardOptions)
  const onMismatch = mismatchReporter(route)
  const handoff =
    secret === undefined ? undefined : createHandoff(secret, { singleUse, onMismatch })
  const reportDoubleCharge = doubleChargeReporter(route, handoff !== undefined)
  const routeOnly = { id: route, cost: undefined }

  /** Returns the subject that the middleware has charged for this request, if it has. */
  async function chargedSubject(
    value: string | null,
    request: NextRequest,
    context: unknown,
  ): Promise<Subject | undefined> {
    if (handoff === undefined || value === null) return undefined
    let found: Subject | undefined
    const subject = async () => {
      const resolved = await guardOptions.subject(request, context)
      found = resolved instanceof Refusal ? undefined : (resolved ?? undefined)
      return found
    }
    const claim = { method: request.method, route, path: pathOf(request), subject }
    return (await handoff.take(value, claim)) ? found : undefined
  }

  return async (handled, context) => {
    // Next.js passes no other kind of request to a route handler.
    const request = handled as Request as NextRequest
    const value = request.headers.get(HANDOFF_HEADER)
    const charged = await chargedSubject(value, request, context)
    removeHandoff(request)
    const run = () => handler(handled, context)
    if (charged && guardRest === undefined) return run()
    const outcome =
      charged && guardRest
        ? await guardRest(routeOnly, request, context, charged)
        : await guard(routeOnly, request, context)
    if (outcome.kind === 'refuse') return outcome.response
    if (outcome.kind === 'allow' && !charged) reportDoubleCharge(value, outcome.decision)
    return outcome.kind === 'allow' ? respond(outcome, run) : run()
  }
}

/** The path as middleware sees it: as the client wrote it, without the app's `basePath`. */
const pathOf = ({ url, nextUrl }: Request & { readonly nextUrl?: URL }): string =>
  (nextUrl ?? new URL(url)).pathname

/** Removes the hand-off, in case the handler forwards the headers of its request. */
function removeHandoff({ headers }: Request): void {
  try {
    headers.delete(HANDOFF_HEADER)
  } catch {
    // Some platforms' requests cannot be changed; the hand-off is used up all the same.
  }
}
