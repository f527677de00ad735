import type { Cost } from '../../cost.ts'
import type { AllowedDecision, DeniedDecision } from '../../decision.ts'
import { requestsOnly } from './requests-only.ts'
import type { Subject } from '../../subject.ts'
import type { CallInFlight } from './call-in-flight.ts'
import type { AllowedRequest, ChargingCost, RequestReservation } from './charging-cost.ts'
import { TOO_LONG_ROUTE, type Route, type RouteCost } from '../../routes/matcher.ts'
import { isDenial, withHeaders } from '../headers/add-headers.ts'
import { limiterFrom, type LimiterSource } from './context.ts'
import { negotiatedFormat } from '../answers/format.ts'
import { assertGuardOptions, type GuardHooks, type GuardOptions } from './guard-options.ts'
import { costError, orRefusal, refusedBody } from '../answers/input-refusal.ts'
import { Refusal, refusalResponse, refuse } from '../answers/refusal.ts'
import { createStages } from './stages.ts'
import { tooManyRequests } from '../answers/too-many-requests.ts'

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
  readonly call?: CallInFlight | undefined
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
  hooks: GuardHooks<Context> = {},
): Guard<Context, PlatformRequest> {
  assertGuardOptions(options)
  const { format, cost: usual = 1, spentStatus } = options
  const answer = (
    reason: Refusal | DeniedDecision,
    request: Request,
    isCharge?: boolean,
  ): Response => {
    const shape = format ?? negotiatedFormat(request)
    return reason instanceof Refusal
      ? refusalResponse(reason, shape)
      : tooManyRequests(reason, {
          format: shape,
          headers: false,
          spentStatus: isCharge ? spentStatus : undefined,
        })
  }
  const stages = createStages<Context, PlatformRequest, AllowedRequest>(
    options,
    limiterFrom('limiter', limiter, hooks.keep),
    answer,
    hooks,
  )

  return async (route, request, ...context) => {
    if (route === TOO_LONG_ROUTE) {
      return { kind: 'refuse', response: answer(PATH_TOO_LONG, request) }
    }
    const { id, cost: option = usual } = route
    return stages(id, request, context, async ({ limiter: chosen, subject, waitUntil }) => {
      const cost = await costOf(option, id, request, context).catch(refusedBody)
      const isRefused = cost instanceof Refusal
      const { chargeFor } = option as Partial<ChargingCost>
      if (chargeFor && !isRefused) {
        return orRefusal(id, chargeFor(request, chosen, subject, { waitUntil, cost }))
      }
      // A refused body costs a request, so that it is not free to repeat.
      const units = isRefused ? requestsOnly(chosen, hooks.isCharged ? 0 : 1) : cost
      const decision = await orRefusal(id, chosen.check(subject, { waitUntil, cost: units }))
      if (!decision.allowed) return decision
      return isRefused ? cost : { allowed: true, decision }
    })
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
