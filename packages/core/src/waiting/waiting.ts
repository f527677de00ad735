import type { Cost } from '../cost.ts'
import type { Duration } from '../internal/duration.ts'
import type { ChargingCost } from '../http/guard/charging-cost.ts'
import type { WaitForOptions } from './wait.ts'
import { assertFunction, assertKnownOptions } from '../internal/validation.ts'
import { limiterOf } from '../limiter/limiter.ts'
import { assertRouteCost, type RouteCost } from '../routes/matcher.ts'
import { assertWait, waitingRuntime } from './wait-for.ts'

/** Options of `waiting`. */
export type WaitingOptions = Pick<WaitForOptions, 'onWaited'>

/**
 * Has an adapter hold a request until it fits, instead of a 429: at most this long, and until its client hangs up. The
 * policies that may be waited for have a `waitingLine`.
 *
 * @param wait From a second to 5 minutes.
 * @param cost The cost of the request, as an adapter takes it: also `reserving(…)`. @default 1 request
 * @throws ConfigError When `wait`, `cost` or an option is malformed; at the first request, if no policy has a line.
 * @example
 * rateLimit(limiter, { routes: ['/api/ai/**'], subject, cost: waiting('20s') }, handle)
 */
export function waiting(wait: Duration, cost?: Cost, options?: WaitingOptions): ChargingCost
// As with `reserving`.
export function waiting<Context extends unknown[] = []>(
  wait: Duration,
  cost: RouteCost<Context>,
  options?: WaitingOptions,
): ChargingCost<Context>
export function waiting<Context extends unknown[] = []>(
  wait: Duration,
  cost: RouteCost<Context> = 1,
  options: WaitingOptions = {},
): ChargingCost<Context> {
  const waitMs = assertWait('waiting.wait', wait)
  assertRouteCost('waiting.cost', cost)
  assertKnownOptions('waiting', options, ['onWaited'])
  if (options.onWaited !== undefined) assertFunction('waiting.onWaited', options.onWaited)
  let isFirst = true
  const costOf = (request: Request, ...context: Context) =>
    typeof cost === 'function' ? cost(request, ...context) : cost
  const { chargeFor, isReserved = false } = cost as Partial<ChargingCost>
  return Object.assign(costOf, {
    isReserved,
    chargeFor: (async (request, limiter, subject, checkOptions) => {
      const { signal } = request
      const runtime = waitingRuntime('waiting', limiter, waitMs, { ...options, signal })
      const patient = limiterOf(runtime, isFirst ? undefined : false)
      isFirst = false
      if (chargeFor) return chargeFor(request, patient, subject, checkOptions)
      const decision = await patient.check(subject, checkOptions)
      return decision.allowed ? { allowed: true, decision } : decision
    }) satisfies ChargingCost['chargeFor'],
  })
}
