import type { Cost } from '../../cost.ts'
import { runtimeOf } from '../../limiter/runtime.ts'

/**
 * Returns the cost of so many requests and of nothing else, in the units that a limiter counts: that of a request
 * which is refused before its real cost is known.
 *
 * @throws ConfigError When `createLimiter` did not create `limiter`.
 * @example
 * await limiter.check(subject, { cost: requestsOnly(limiter, 1) })
 */
export function requestsOnly(limiter: object, requests: number): Cost {
  const units = [...runtimeOf(limiter).program.units]
  return Object.fromEntries(units.map((unit) => [unit, unit === 'request' ? requests : 0]))
}
