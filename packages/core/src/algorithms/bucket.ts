import type {
  Algorithm,
  AlgorithmInput,
  Finding,
  Settlement,
  SettlementTwins,
} from './algorithm.ts'
import { FOREIGN } from './algorithm.ts'

/**
 * What a bucket holds that has not leaked yet, in units times milliseconds of its window: `limit` of
 * these leak each millisecond, so that every step is a whole number, and none is rounded.
 *
 * Under another limit, such as that of another route or plan, it is as full as before: what takes an
 * hour to leak takes an hour. So each limit holds by itself, however they are mixed.
 */
interface BucketState {
  readonly used: number
  /** The moment of `used`, in epoch ms. */
  readonly at: number
  /** The limit that `used` is in terms of. */
  readonly limit: number
}

/** A charge that turned out to be larger is counted as far as numbers are exact. */
const MOST_USED = Number.MAX_SAFE_INTEGER

/** The most units that a bucket with this window can hold or leak and still count exactly. */
export const maxUnitsOf = (windowMs: number): number =>
  Math.floor(Number.MAX_SAFE_INTEGER / windowMs)

/** Stands for a wait of any length where the longest wait would stand, in milliseconds. */
export const ANY_WAIT = 1_000_000_000_000

/**
 * The algorithm of all buckets. Its params: the window in milliseconds; the quantum, the milliseconds
 * after each of which the bucket leaks at once what it leaks in them (1 when left out); the longest
 * that a cost may wait for what came before it to leak, in milliseconds (0 when left out: it does not
 * wait, and goes on at once).
 */
export const bucketAlgorithm = (id: string): Algorithm<BucketState> => ({
  id,

  check(state: BucketState | undefined, input: AlgorithmInput, now: number): Finding {
    const { limit, burst, cost, params } = input
    const [window = 1, quantum = 1, longestWait = 0] = params
    const { used, at } = leaked(state, limit, quantum, now)
    const until = (amount: number): number =>
      amount <= 0 ? 0 : Math.ceil(amount / (limit * quantum)) * quantum + (at - now)
    // Multiplied only when small enough: a product above 2^53 would be rounded.
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
    const { used, at } = leaked(state, limit, params[1] ?? 1, now)
    return { ...kept(used + cost * (params[0] ?? 1), at, limit, params, now), position: at }
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
      add: `local used, at, limit = math.min($used + cost * ${window}, ${MOST_USED}), $at, $limit
${write}`,
      position: '$at',
    }
  },
})

/** Corrects the charges of buckets. */
export const bucketSettlement: SettlementTwins<BucketState> = {
  needsTime: true,

  // What was charged may have leaked by then, and what has leaked is not given back: as if it had been
  // the first to leak, so that never more is given back than is there because of it.
  settle(state: BucketState | undefined, settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const [window = 1, quantum = 1] = params
    // A cost of nothing may have been let in by a limit of 0.
    const charged = Math.max(1, settlement.limit)
    if (state === undefined && actual <= reserved) return undefined
    const limit = state?.limit ?? charged
    const { used, at } = leaked(state, limit, quantum, now)
    const gone = (at - position) * charged
    const left = (units: number): number => Math.max(0, units * window - gone)
    const more = actual > reserved ? (actual - reserved) * window : left(actual) - left(reserved)
    const corrected = Math.max(0, used + rescale(limit, more, charged))
    return { ...kept(corrected, at, limit, params, now), applied: Math.trunc(more / window) + 0 }
  },

  lua([window = 1, quantum = 1]) {
    const { tick, parse, leak, write } = luaPieces(window, quantum)
    return `local charged, used, at, stored = math.max(1, limit), 0, ${tick}, redis.call('GET', key)
limit = charged
if stored then
  ${parse}
  ${leak}
  limit = of
end
if stored or actual > reserved then
  local gone, more = (at - position) * charged, (actual - reserved) * ${window}
  if more < 0 then more = math.max(0, actual * ${window} - gone) - math.max(0, reserved * ${window} - gone) end
  applied = more < 0 and math.ceil(more / ${window}) or math.floor(more / ${window})
  if limit ~= charged then
    local size, sign = math.abs(more), more < 0 and -1 or 1
    more = sign * math.floor(size / charged) * limit + math.ceil(sign * (size % charged) * limit / charged)
  end
  used = math.min(math.max(0, used + more), ${MOST_USED})
  ${write}
end`
  },
}

/** Lua that both need: verifies what is stored, lets it leak, and writes it. */
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

function kept(
  used: number,
  at: number,
  limit: number,
  [window = 1, quantum = 1]: readonly number[],
  now: number,
) {
  const bounded = Math.min(used, MOST_USED)
  const emptyAt = at + Math.ceil(bounded / (limit * quantum)) * quantum
  return { state: { used: bounded, at, limit }, expiresAt: Math.max(emptyAt, now) + window }
}

/** The bucket as it is at `now`, or at its last charge if `now` is before that. */
function leaked(
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
 * What takes as long to leak under `limit` as `amount` under `other`, or as little longer as can be. The
 * whole multiples apart: their product is exact, and only that of what is left over can be rounded, where
 * both limits are above 90 million. So nothing is rounded where the limit stays the same.
 */
function rescale(limit: number, amount: number, other: number): number {
  if (limit === other) return amount
  const [size, sign] = [Math.abs(amount), Math.sign(amount)]
  const whole = sign * Math.floor(size / other) * limit
  return whole + Math.ceil((sign * (size % other) * limit) / other)
}
