import type { Algorithm, Entry, Settlement, Verdict } from '../algorithm.ts'

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

  check(state: BucketState | undefined, entry: Entry, now: number): Verdict {
    const { limit, burst, cost, params } = entry
    const [window = 1, quantum = 1, longestWait = 0] = params
    const { used, at } = leaked(state, entry, now)
    const until = (amount: number): number =>
      amount <= 0 ? 0 : Math.ceil(amount / (limit * quantum)) * quantum + (at - now)
    // Multiplied only when small enough: a product above 2^53 would be rounded.
    const over = cost > burst ? 0 : used - (burst - cost) * window
    const wait = longestWait === 0 ? 0 : until(used)
    const fits = cost === 0 || (cost <= burst && over <= 0 && wait <= longestWait)
    const units = Math.ceil(used / window)
    return {
      fits,
      available: Math.max(0, burst - units),
      resetMs: until(used === 0 ? window : Math.max(1, used - (units - 1) * window)),
      retryMs: fits ? 0 : cost > burst ? -1 : Math.max(until(over), wait - longestWait),
      waitMs: fits && cost > 0 ? wait : 0,
    }
  },

  add(state: BucketState | undefined, entry: Entry, now: number) {
    const [window = 1, quantum = 1] = entry.params
    const { used: before, at } = leaked(state, entry, now)
    const used = Math.min(before + entry.cost * window, MOST_USED)
    const emptyAt = at + Math.ceil(used / (entry.limit * quantum)) * quantum
    return { state: { used, at, limit: entry.limit }, expiresAt: emptyAt + window, place: at }
  },

  // What was charged may have leaked by then, and what has leaked is not given back: as if it had been
  // the first to leak, so that never more is given back than is there because of it.
  settle({ used: before, at, limit }: BucketState, settlement: Settlement, now: number) {
    const { limit: charged, place, reserved, actual, params } = settlement
    const [window = 1, quantum = 1] = params
    const gone = (at - place) * charged
    const left = (units: number): number => Math.max(0, units * window - gone)
    const more = actual > reserved ? (actual - reserved) * window : left(actual) - left(reserved)
    const used = Math.min(Math.max(0, before + inTermsOf(limit, more, charged)), MOST_USED)
    const emptyAt = at + Math.ceil(used / (limit * quantum)) * quantum
    return { state: { used, at, limit }, expiresAt: Math.max(emptyAt, now) + window }
  },

  // The value is `used:at:limit`. A key lives a window longer than it holds something, so that a clock that
  // steps back finds it. A clock behind `at` has nothing leak, and its times count from `at`.
  lua: `(function()
  ${LEAKED}
  return {
    check = function(entry, now)
      local limit, burst, cost = entry.limit, entry.burst, entry.cost
      local window, quantum = entry.params[1], entry.params[2] or 1
      local longest_wait = entry.params[3] or 0
      local used, at = leaked(entry, now)
      local function ends(amount)
        if amount <= 0 then return 0 end
        return math.ceil(amount / (limit * quantum)) * quantum + (at - now)
      end
      local over = cost > burst and 0 or used - (burst - cost) * window
      local wait = longest_wait == 0 and 0 or ends(used)
      local fits = cost == 0 or (cost <= burst and over <= 0 and wait <= longest_wait)
      local units = math.ceil(used / window)
      local retry = math.max(ends(over), wait - longest_wait)
      return {
        fits = fits, available = math.max(0, burst - units),
        reset = ends(used == 0 and window or math.max(1, used - (units - 1) * window)),
        retry = fits and 0 or (cost > burst and -1 or retry),
        wait = fits and cost > 0 and wait or 0, used = used, at = at,
      }
    end,
    add = function(entry, now, verdict, call)
      local window = entry.params[1]
      keep(entry, now, verdict.used + entry.cost * window, verdict.at, entry.limit, call)
      return verdict.at
    end,
  }
end)()`,

  luaSettle: `(function()
  ${LEAKED}
  return function(entry, clock)
    local now, own, slack = clock()
    local window, reserved, actual = entry.params[1], entry.reserved, entry.actual
    local used, at, limit = read(entry.key)
    if not used then return end
    local gone = (at - entry.place) * entry.limit
    local function left(units) return math.max(0, units * window - gone) end
    local more = actual > reserved and (actual - reserved) * window or left(actual) - left(reserved)
    more = in_terms_of(limit, more, entry.limit)
    keep(entry, now, math.max(0, used + more), at, limit, { own = own, slack = slack })
  end
end)()`,
})

/** What the Lua twins read and write. */
const LEAKED = `local function read(key)
    local stored = redis.call('GET', key)
    if not stored then return end
    local used, at, limit = string.match(stored, '^(%d+):(%d+):(%d+)$')
    if not used then error('not a bucket') end
    return tonumber(used), tonumber(at), tonumber(limit)
  end
  local function in_terms_of(limit, amount, other)
    if limit == other then return amount end
    local size, sign = math.abs(amount), amount < 0 and -1 or 1
    return sign * math.floor(size / other) * limit + math.ceil(sign * (size % other) * limit / other)
  end
  local function leaked(entry, now)
    local tick = now - now % (entry.params[2] or 1)
    local held, since, limit = read(entry.key)
    if not held then return 0, tick end
    local at = math.max(since, tick)
    local left = math.max(0, held - (at - since) * limit)
    return in_terms_of(entry.limit, left, limit), at
  end
  local function keep(entry, now, used, at, limit, call)
    used = math.min(used, ${MOST_USED})
    local window, quantum = entry.params[1], entry.params[2] or 1
    local empty = at + math.ceil(used / (limit * quantum)) * quantum
    local gone = math.max(empty, now) + window
    local value = string.format('%.0f:%.0f:%.0f', used, at, limit)
    local expiry = string.format('%.0f', call.own and gone or gone - now + call.slack)
    redis.call('SET', entry.key, value, call.own and 'PXAT' or 'PX', expiry)
  end`

/** What the bucket holds at `now`, and since when; if `now` is before the last charge, at that. */
function leaked(
  state: BucketState | undefined,
  { limit, params: [, quantum = 1] }: Pick<Entry, 'limit' | 'params'>,
  now: number,
): BucketState {
  const tick = now - (now % quantum)
  if (state === undefined) return { used: 0, at: tick, limit }
  const at = Math.max(state.at, tick)
  const left = Math.max(0, state.used - (at - state.at) * state.limit)
  return { used: inTermsOf(limit, left, state.limit), at, limit }
}

/**
 * What takes as long to leak under `limit` as `amount` under `other`, or as little longer as can be. The
 * whole multiples apart: their product is exact, and only that of what is left over can be rounded, where
 * both limits are above 90 million. So nothing is rounded where the limit stays the same.
 */
function inTermsOf(limit: number, amount: number, other: number): number {
  if (limit === other) return amount
  const [size, sign] = [Math.abs(amount), Math.sign(amount)]
  const whole = sign * Math.floor(size / other) * limit
  return whole + Math.ceil((sign * (size % other) * limit) / other)
}
