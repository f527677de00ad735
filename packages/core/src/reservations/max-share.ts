import type { Finding } from '../algorithms/algorithm.ts'
import type { Alternative, Entry } from '../stores/store.ts'
import { decidedBy, type LimiterRuntime } from '../limiter/runtime.ts'
import { assertShare } from '../internal/validation.ts'

/**
 * Returns a limiter's runtime in which no reservation holds more than a share of any limit. Requests and calls in
 * flight are left out: a reservation has one of each. A balance has no limit.
 *
 * @throws ConfigError When `maxShare` is not a number above 0, up to 1.
 */
export function limitedToShare(runtime: LimiterRuntime, maxShare = 1): LimiterRuntime {
  assertShare('maxShare', maxShare)
  if (maxShare === 1) return runtime
  function limited<One extends Alternative>(one: One): One {
    const { entries, fit } = one
    const rooms = entries.map(({ burst, policy: { unit, algorithm } }) => {
      const isFree = unit === 'request' || unit === 'call' || algorithm.traits?.balance
      return { available: isFree ? Infinity : Math.floor(burst * maxShare) } as Finding
    })
    return {
      ...one,
      // A cost above the limit never fits.
      entries: entries.map((entry, at): Entry => {
        const isAbove = entry.cost > (rooms[at] as Finding).available
        return isAbove ? { ...entry, cost: entry.burst + 1 } : entry
      }),
      fit: fit && { ...fit, most: fit.kind.grant(fit, entries, rooms) },
    }
  }
  return decidedBy(
    runtime,
    (request) => request.alternatives?.kind.each(request, limited) ?? limited(request),
  )
}
