import type {
  Algorithm,
  AlgorithmInput,
  Finding,
  Settlement,
  SettlementTwins,
} from './algorithm.ts'
import { FOREIGN } from './algorithm.ts'

/**
 * The contents of a bucket.
 *
 * `used` is in units times milliseconds of the window. `limit` of these leak each millisecond, so every
 * step is a whole number and nothing is rounded.
 *
 * If the limit changes, as from one route or plan to another, the bucket stays as full as it was: contents
 * that take an hour to leak still take an hour. So each limit holds by itself, however they are mixed.
 */
interface BucketState {
  readonly used: number
  /** The time at which the bucket held `used`, in epoch ms. */
  readonly at: number
  /** The limit in force then, which is the scale of `used`. */
  readonly limit: number
}

/** The most that a bucket counts: beyond it, numbers are not exact. Only settling can reach it. */
const MAX_USED = Number.MAX_SAFE_INTEGER

/** The most units for which a bucket with this window counts exactly. */
export const maxUnitsOf = (windowMs: number): number =>
  Math.floor(Number.MAX_SAFE_INTEGER / windowMs)

/** The longest wait, in milliseconds, of a bucket in which any wait is allowed. */
export const ANY_WAIT = 1_000_000_000_000

/**
 * The algorithm of token and leaky buckets. Its params, in milliseconds:
 * - the window
 * - the quantum: the bucket leaks in steps of this length. @default 1
 * - the longest time that a request may wait behind the contents of the bucket. @default 0, no waiting
 */
export const bucketAlgorithm = (id: string): Algorithm<BucketState> => ({
  id,

  check(state: BucketState | undefined, input: AlgorithmInput, now: number): Finding {
    const { limit, burst, cost, params } = input
    const [window = 1, quantum = 1, longestWait = 0] = params
    const { used, at } = leakTo(state, limit, quantum, now)
    const until = (amount: number): number =>
      amount <= 0 ? 0 : Math.ceil(amount / (limit * quantum)) * quantum + (at - now)
    // Multiplied only if the product is exact: one above 2^53 would be rounded.
    const over = cost > burst ? 0 : used - (burst - cost) * window
    const wait = longestWait === 0 ? 0 : until(used)
    const fits = cost === 0 || (cost <= burst && over <= 0 && wait <= longestWait)
    const units = Math.ceil(used / window)
    const next = used === 0 ? window : Math.max(1, used - (units - 1) * window)
    return {
      fits,
      available: Math.max(0, burst - units),
      resetMs: limit === 0 ? window : until(next),
      retryMs: fits ? 0 : cost > burst ? -1 : Math.max(until(over), wait - longestWait),
      waitMs: fits && cost > 0 ? wait : 0,
    }
  },

  add(state: BucketState | undefined, { limit, cost, params }: AlgorithmInput, now: number) {
    const { used, at } = leakTo(state, limit, params[1] ?? 1, now)
    return { ...withExpiry(used + cost * (params[0] ?? 1), at, limit, params, now), position: at }
  },

  // The value is `b<used>:<at>:<limit>`. A key lives a window longer than it holds something, so that
  // a clock that steps back finds it. A clock behind `at` has nothing leak, and its times count from `at`.
  lua([window = 1, quantum = 1, longestWait = 0]) {
    const ends = (amount: string): string =>
      quantum === 1
        ? `math.ceil(${amount} / limit) + (at - now)`
        : `math.ceil(${amount} / (limit * ${quantum})) * ${quantum} + (at - now)`
    const { tick, parse, leak, write } = luaPieces(window, quantum)
    return {
      keeps: ['used', 'at', 'limit'],
      check: `local used, at, stored = 0, ${tick}, redis.call('GET', key)
if stored then
  ${parse}
  ${leak}
  if of ~= limit then used = math.floor(used / of) * limit + math.ceil(used % of * limit / of) end
end
local over = cost > burst and 0 or used - (burst - cost) * ${window}
${longestWait > 0 ? `local turn = used > 0 and ${ends('used')} or 0` : ''}
fits = cost == 0 or cost <= burst and over <= 0${longestWait > 0 ? ` and turn <= ${longestWait}` : ''}
local units = math.ceil(used / ${window})
local left = used == 0 and ${window} or math.max(1, used - (units - 1) * ${window})
available, reset = burst - units, limit == 0 and ${window} or ${ends('left')}
if cost > burst then
  retry = -1
elseif not fits then
  retry = over > 0 and ${ends('over')} or 0
  ${longestWait > 0 ? `retry = math.max(retry, turn - ${longestWait})` : ''}
${longestWait > 0 ? 'elseif cost > 0 then\n  wait = turn' : ''}
end
$used, $at, $limit = used, at, limit`,
      add: `local used, at, limit = math.min($used + cost * ${window}, ${MAX_USED}), $at, $limit
${write}`,
      position: '$at',
    }
  },
})

/** Corrects the charges of buckets. */
export const bucketSettlement: SettlementTwins<BucketState> = {
  needsTime: true,

  // Units that have leaked since the charge are not given back. The charge counts as the first to leak, so
  // no more is given back than the bucket still holds because of it.
  settle(state: BucketState | undefined, settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const [window = 1, quantum = 1] = params
    // A limit of 0 lets in a cost of 0, which may turn out to be more.
    const charged = Math.max(1, settlement.limit)
    if (state === undefined && actual <= reserved) return undefined
    const { used, at, limit: scale } = leakTo(state, state?.limit ?? charged, quantum, now)
    // An empty one has no scale yet.
    const limit = used > 0 ? scale : charged
    const gone = (at - position) * charged
    const left = (units: number): number => Math.max(0, units * window - gone)
    const more = actual > reserved ? (actual - reserved) * window : left(actual) - left(reserved)
    const corrected = Math.max(0, used + rescale(limit, more, charged))
    return {
      ...withExpiry(corrected, at, limit, params, now),
      applied: Math.trunc(more / window) + 0,
    }
  },

  lua([window = 1, quantum = 1]) {
    const { tick, parse, leak, write } = luaPieces(window, quantum)
    return `local charged, used, at, stored = math.max(1, limit), 0, ${tick}, redis.call('GET', key)
limit = charged
if stored then
  ${parse}
  ${leak}
  if used > 0 then limit = of end
end
if stored or actual > reserved then
  local gone, more = (at - position) * charged, (actual - reserved) * ${window}
  if more < 0 then more = math.max(0, actual * ${window} - gone) - math.max(0, reserved * ${window} - gone) end
  applied = more < 0 and math.ceil(more / ${window}) or math.floor(more / ${window})
  if limit ~= charged then
    local size, sign = math.abs(more), more < 0 and -1 or 1
    more = sign * math.floor(size / charged) * limit + math.ceil(sign * (size % charged) * limit / charged)
  end
  used = math.min(math.max(0, used + more), ${MAX_USED})
  ${write}
end`
  },
}

/** Lua for both scripts: parses the stored value, lets it leak, writes it. */
function luaPieces(window: number, quantum: number) {
  const tick = quantum === 1 ? 'now' : `now - now % ${quantum}`
  const parse = `local held, since, of = string.match(stored, '^b(%d+):(%d+):(%d+)$')
  if not of or of == '0' then ${FOREIGN} end
  held, since, of = tonumber(held), tonumber(since), tonumber(of)`
  const leak = `if since > at then at = since end
  used = held - (at - since) * of
  if used < 0 then used = 0 end`
  const write = `local gone = math.max(at + math.ceil(used / (limit * ${quantum})) * ${quantum}, now) + ${window}
redis.call('SET', key, string.format('b%.0f:%.0f:%.0f', used, at, limit), own and 'PXAT' or 'PX', own and gone or gone - now + slack)`
  return { tick, parse, leak, write }
}

/** Returns the state. It expires a window after the bucket is empty. */
function withExpiry(
  used: number,
  at: number,
  limit: number,
  [window = 1, quantum = 1]: readonly number[],
  now: number,
) {
  const bounded = Math.min(used, MAX_USED)
  const emptyAt = at + Math.ceil(bounded / (limit * quantum)) * quantum
  return { state: { used: bounded, at, limit }, expiresAt: Math.max(emptyAt, now) + window }
}

/** Returns the bucket at `now`, or at its last charge if `now` is before that. */
function leakTo(
  state: BucketState | undefined,
  limit: number,
  quantum: number,
  now: number,
): BucketState {
  const tick = now - (now % quantum)
  if (state === undefined) return { used: 0, at: tick, limit }
  const at = Math.max(state.at, tick)
  const left = Math.max(0, state.used - (at - state.at) * state.limit)
  return { used: rescale(limit, left, state.limit), at, limit }
}

/**
 * Returns the contents that take as long to leak under `limit` as `amount` does under `other`, rounded up.
 * Whole multiples are scaled apart from the remainder, because their product is exact. The remainder's is
 * inexact only if both limits are above 90 million.
 */
function rescale(limit: number, amount: number, other: number): number {
  if (limit === other) return amount
  const [size, sign] = [Math.abs(amount), Math.sign(amount)]
  const whole = sign * Math.floor(size / other) * limit
  return whole + Math.ceil((sign * (size % other) * limit) / other)
}
