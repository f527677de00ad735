import type { LocalShare } from './fallback.ts'
import { invalidOption } from '../internal/validation.ts'

/**
 * While the store fails, lets each process count up to this share of every limit by itself, in its memory.
 * With a share of 0.1, ten processes together stay within the limits. A share of units is rounded down. A
 * cost that is above its share is denied as if the mode were `'deny'`.
 *
 * @param share Above 0, up to 1: one divided by the most processes that serve requests at the same time.
 * @throws ConfigError When `share` is not such a number.
 * @example
 * createLimiter({ store, policies, onStoreError: localShare(0.1) })
 */
export function localShare(share: number): LocalShare {
  if (!(typeof share === 'number' && share > 0 && share <= 1)) {
    throw invalidOption('localShare', 'must be a number above 0, up to 1')
  }
  // Without the last digit of a double, by which 0.29 of 100 is less than 29.
  const part = (units: number): number => Math.floor(Number((units * share).toPrecision(15)))
  return ({ entries }) => {
    const shares = entries.map((entry) => {
      const limit = part(entry.limit)
      // A bucket that never leaks takes nothing in.
      return { ...entry, limit, burst: limit === 0 ? 0 : part(entry.burst) }
    })
    const isAboveShare = shares.some(({ enforced, cost, burst }, index) => {
      const whole = entries[index]?.burst ?? 0
      return enforced && cost > burst && cost <= whole
    })
    return isAboveShare ? 'deny' : shares
  }
}
