import type { Cost } from '../../cost.ts'
import type { DeniedDecision } from '../../decision.ts'
import type { CheckOptions } from '../../limiter/call.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { Settled } from '../../reservations/settle.ts'
import type { Subject } from '../../subject.ts'
import type { AllowedRequest, ChargingCost, RequestReservation } from './charging-cost.ts'
import { durationMs } from '../../internal/duration.ts'
import { assertKnownOptions, invalidOption } from '../../internal/validation.ts'
import { slotRelease } from '../../reservations/slot-release.ts'
import { reserve, type ReserveOptions } from '../../reservations/reserve.ts'
import { assertRouteCost, type RouteCost } from '../../routes/matcher.ts'
import { createCallInFlight } from './call-in-flight.ts'

/** Options of `reserving`. */
export type ReservingOptions = Pick<ReserveOptions, 'settleWithin' | 'unsettled'>

/**
 * Has a guard reserve the cost of a request instead of charging it for good. The handler corrects it with
 * `reservationOf(request)`. Requests, tokens, dollars and calls in flight are one decision. An
 * estimate that the handler does not settle stays charged, except calls in flight: they end with the
 * response.
 *
 * @param cost The estimate, or a function of the request that returns it.
 * @throws ConfigError When an argument is malformed.
 * @example
 * rateLimit(limiter, { routes: ['/api/ai/**'], subject, cost: reserving({ token: 4_000 }) }, handle)
 */
export function reserving(cost: Cost, options?: ReservingOptions): ChargingCost
// A type of its own: with `Context` to be inferred, adapters whose context is generic find none.
export function reserving<Context extends unknown[] = []>(
  cost: RouteCost<Context>,
  options?: ReservingOptions,
): ChargingCost<Context>
export function reserving<Context extends unknown[] = []>(
  cost: RouteCost<Context>,
  options: ReservingOptions = {},
): ChargingCost<Context> {
  assertKnownOptions('reserving', options, ['settleWithin', 'unsettled'])
  assertRouteCost('reserving.cost', cost)
  const { settleWithin = '1h', unsettled } = options
  durationMs('reserving.settleWithin', settleWithin)
  const estimate = (request: Request, ...context: Context) =>
    typeof cost === 'function' ? cost(request, ...context) : cost
  const chargeFor: ChargingCost['chargeFor'] = (request, limiter, subject, checkOptions) =>
    reserveRequest(request, limiter, subject, { ...checkOptions, settleWithin, unsettled })
  return Object.assign(estimate, { chargeFor, isReserved: true })
}

const reservations = new WeakMap<Request, RequestReservation>()

/**
 * Returns the reservation of a request to its handler.
 *
 * @param request The same object that the handler got, not a copy.
 * @throws ConfigError When nothing is reserved for the request.
 * @example
 * const call = reservationOf(request)
 * const { text, usage } = await callModel()
 * await call.settle({ token: usage.total_tokens })
 */
export function reservationOf(request: Request): RequestReservation {
  const reservation = reservations.get(request)
  if (reservation !== undefined) return reservation
  const message =
    'must be the very request that the handler got, to a route with cost: reserving(…)'
  throw invalidOption('reservationOf.request', message)
}

async function reserveRequest(
  request: Request,
  limiter: Limiter,
  subject: Subject,
  options: CheckOptions & ReservingOptions,
): Promise<AllowedRequest | DeniedDecision> {
  const decision = await reserve(limiter, subject, options)
  if (!decision.allowed) return decision
  /** True if somebody settles, which frees the slot, too. */
  let isTakenOver = false
  const takeOver = async (settled: Promise<Settled>): Promise<Settled> => {
    isTakenOver = true
    try {
      return await settled
    } catch (error) {
      isTakenOver = false
      throw error
    }
  }
  const reservation: RequestReservation = {
    ...decision,
    subject,
    settle: (actual) => takeOver(decision.settle(actual)),
    cancel: () => takeOver(decision.cancel()),
    toJSON() {
      isTakenOver = true
      return decision.toJSON()
    },
  }
  reservations.set(request, reservation)
  const release = slotRelease(limiter, decision.toJSON())
  if (release === undefined) return { allowed: true, decision: reservation }
  const free = async () => (isTakenOver ? undefined : release())
  const call = createCallInFlight(request, free, options.waitUntil)
  return { allowed: true, decision: reservation, call, cancel: call.end }
}
