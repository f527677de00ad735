import type { Finding } from '../algorithms/algorithm.ts'
import type { Entry, StoreRequest } from '../stores/store.ts'
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
  return maxShare === 1 ? runtime : decidedBy(runtime, (request) => limitShare(request, maxShare))
}

function limitShare(request: StoreRequest, maxShare: number): StoreRequest {
  const { fit } = request
  const counted = request.entries.filter(
    ({ policy: { unit, algorithm } }) =>
      unit !== 'request' && unit !== 'call' && !algorithm.traits?.balance,
  )
  const rooms = counted.map(({ burst }) => ({ available: Math.floor(burst * maxShare) }) as Finding)
  // A cost above the limit never fits.
  const entries = request.entries.map((entry): Entry => {
    const room = rooms[counted.indexOf(entry)]
    return room && entry.cost > room.available ? { ...entry, cost: entry.burst + 1 } : entry
  })
  const lowered = fit && { ...fit, most: fit.kind.grant(fit, counted, rooms) }
  return { ...request, entries, fit: lowered }
}
