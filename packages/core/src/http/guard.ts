import type { Cost } from '../cost.ts'
import type { AllowedDecision } from '../decision.ts'
import type { CheckOptions } from '../limiter/call.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { requestsOnly } from './requests-only.ts'
import type { Subject } from '../subject.ts'
import type { CallInFlight } from './call-in-flight.ts'
import type { RequestReservation, ReservedCost, ReservedRequest } from './reserving.ts'
import { TOO_LONG_ROUTE, type Route, type RouteCost } from '../routes/matcher.ts'
import { limiterFrom, type LimiterSource } from './context.ts'
import { keepDecision } from './decision-of.ts'
import { delay } from './delay.ts'
import { resolveGuardOptions, type GuardHooks, type GuardOptions } from './guard-options.ts'
import { refuseRequest } from './guard-responses.ts'
import { headersFor, isDenial, withHeaders } from './add-headers.ts'
import { costError, orRefusal, refusedBody } from './input-refusal.ts'
import { createIdentify } from './identify.ts'
import { Refusal, refuse } from './refusal.ts'
import { warnOfUnknownRoutes } from './unknown-routes.ts'

/**
 * The result of a guard. `pass` lets the request through uncharged, `refuse` answers it with
 * `response`, and `allow` runs the handler and adds `headers` to its response.
 */
export type GuardOutcome =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly response: Response }
  | AllowOutcome

/** The outcome of a guard for a request that is let through and charged. */
export interface AllowOutcome {
  readonly kind: 'allow'
  /** The decision; if `reserving` created the cost, it is the reservation, too. */
  readonly decision: AllowedDecision | RequestReservation
  readonly route: string
  readonly subject: Subject
  /** Headers to add to the response. */
  readonly headers: Readonly<Record<string, string>>
  /** Set if the request holds a slot. `respond` ends it with the response, else the adapter does. */
  readonly call: CallInFlight | undefined
}

/** Decides what to do with a request to a route, before its handler runs. */
export type Guard<Context extends unknown[] = [], PlatformRequest extends Request = Request> = (
  route: Route<Context, PlatformRequest>,
  request: PlatformRequest,
  ...context: Context
) => Promise<GuardOutcome>

/**
 * Creates the part that all adapters share; start here to write one. An adapter finds the route of a
 * request, calls the guard, and applies the outcome. The guard works in stages: charge the guess limit,
 * find the subject, run the pre-filter, find the cost, check the limits, delay the request.
 *
 * If the last value of the context has a `waitUntil`, or there is that option, background work may outlast
 * the response.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const match = compileRoutes(['/api/ai/**'])
 * const guard = createGuard(limiter, { subject: tenantFromJwt })
 * const route = match(request.method, new URL(request.url).pathname)
 * const outcome = route && (await guard(route, request))
 */
export function createGuard<Context extends unknown[], PlatformRequest extends Request = Request>(
  limiter: LimiterSource<Context>,
  options: GuardOptions<Context, PlatformRequest>,
  { keep, before, isCharged }: GuardHooks<Context> = {},
): Guard<Context, PlatformRequest> {
  const settings = resolveGuardOptions(options)
  const { onDenied, maxDelayMs } = settings
  const limiterFor = limiterFrom('limiter', limiter, keep)
  const identify = createIdentify(settings, { keep, before })

  return async (route, request, ...context) => {
    if (route === TOO_LONG_ROUTE) return refuseRequest(PATH_TOO_LONG, request, settings)
    const { id } = route
    const caller = await identify(id, request, ...context)
    if (!caller) return { kind: 'pass' }
    if (!('subject' in caller)) return refuseRequest(caller, request, settings)
    const { subject, waitUntil, refund } = caller

    const option = route.cost ?? settings.cost ?? 1
    const cost = await costOf(option, id, request, context).catch(refusedBody)
    const terms = { limiter: limiterFor(...context), subject }
    // A refused body costs a request, so that it is not free to repeat.
    const charge =
      cost instanceof Refusal
        ? chargeRequest(1, request, terms, {
            waitUntil,
            cost: requestsOnly(terms.limiter, isCharged ? 0 : 1),
          })
        : chargeRequest(option, request, terms, { waitUntil, cost })
    const charged = await orRefusal(id, charge)
    await refund
    if (charged instanceof Refusal) return refuseRequest(charged, request, settings)
    const { decision, call } = charged
    warnOfUnknownRoutes(terms.limiter, decision)
    if (!decision.allowed) {
      const answer = await onDenied?.(decision, request, ...context)
      return refuseRequest(decision, request, settings, answer)
    }
    if (cost instanceof Refusal) return refuseRequest(cost, request, settings)

    // The client is gone: nobody reads the answer, and no handler runs.
    if (!(await delay(Math.min(maxDelayMs, decision.delayMs), request.signal))) {
      await call?.end()
      return { kind: 'refuse', response: new Response(null, { status: 499 }) }
    }
    keepDecision(request, decision)
    const headers = headersFor(request, decision, settings.headers)
    return { kind: 'allow', decision, headers, route: id, subject, call }
  }
}

/**
 * Runs the handler of a request that a guard lets through. Returns its response with the limits' headers,
 * and frees at its end what `outcome` holds. A 429, or another response with `Retry-After`, gets no headers:
 * it is the denial of a limiter further in.
 *
 * @example
 * if (outcome.kind === 'allow') return respond(outcome, () => handle(request))
 */
export async function respond(
  { call, headers }: Pick<AllowOutcome, 'call' | 'headers'>,
  handle: () => Response | Promise<Response>,
): Promise<Response> {
  const response = await (call ? call.during(handle) : handle())
  return isDenial(response) ? response : withHeaders(response, headers)
}

const PATH_TOO_LONG = /* @__PURE__ */ refuse({
  status: 414,
  code: 'path_too_long',
  message: 'The path of this request is longer than 16,384 characters.',
})

/** Checks the limits; reserves the cost if `reserving` created it. */
async function chargeRequest(
  cost: RouteCost<never, never>,
  request: Request,
  { limiter, subject }: { readonly limiter: Limiter; readonly subject: Subject },
  options: CheckOptions,
): Promise<ReservedRequest> {
  const { reserveFor } = cost as Partial<ReservedCost>
  if (reserveFor) return reserveFor(request, limiter, subject, options)
  return { decision: await limiter.check(subject, options) }
}

/** Returns the cost of a request. @throws InputError When a function returns `undefined`. */
async function costOf<Context extends unknown[], PlatformRequest extends Request>(
  cost: RouteCost<Context, PlatformRequest>,
  route: string,
  request: PlatformRequest,
  context: Context,
): Promise<Cost> {
  if (typeof cost !== 'function') return cost
  const units: Cost | undefined = await cost(request, ...context)
  // Otherwise a function that forgets to return would be charged 1 request.
  if (units !== undefined) return units
  throw costError('cost', 'must not be undefined', route)
}
