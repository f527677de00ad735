import type { Algorithm, Entry, Settlement, Verdict } from '../algorithm.ts'
import type { Policy, PolicyOptions } from '../policy.ts'
import { durationMs, type Duration } from '../duration.ts'
import { ConfigError } from '../errors.ts'
import { definePolicy } from '../policy.ts'
import { positiveInteger } from '../validate.ts'

/** Options of `slidingWindowCounter`. */
export interface SlidingWindowCounterOptions extends PolicyOptions {
  /** The window's length. */
  readonly window: Duration
  /**
   * Parts that the window is cut into, each with a count of its own: the more, the closer to exact. At
   * most 60, each a whole number of milliseconds. @default 1
   */
  readonly segments?: number
}

const MAX_SEGMENTS = 60

interface CounterState {
  /** Which segment since the Unix epoch `counts` begins with. */
  readonly index: number
  /** Units by segment, the newest first; the last is only in part in the window. */
  readonly counts: readonly number[]
}

/**
 * Allows about `limit` units in any stretch as long as `window`, from counts of whole segments of it,
 * of which the oldest is taken in proportion to how much of it is still in the window. One short
 * string in Redis, whatever the traffic. Three things hold: no stretch of `window` less one segment
 * ever exceeds the limit; a stretch of `window` exceeds it by no more than a single segment held, and
 * so never holds more than twice the limit; and nothing is denied that an exact window of one segment
 * more would allow.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * slidingWindowCounter({ name: 'rpm', limit: 600, window: '1m', segments: 6, per: ['tenant'] })
 */
export function slidingWindowCounter(options: SlidingWindowCounterOptions): Policy {
  return definePolicy('slidingWindowCounter', options, ['window', 'segments'], () => {
    const windowMs = durationMs('slidingWindowCounter.window', options.window)
    const option = 'slidingWindowCounter.segments'
    const { segments: parts = 1 } = options
    const segments = positiveInteger(option, parts, MAX_SEGMENTS)
    if (windowMs % segments !== 0) {
      const message = 'must cut the window into parts of whole milliseconds'
      throw new ConfigError('invalid_option', option, message)
    }
    return {
      algorithm,
      params: [windowMs, segments],
      windowMs,
      reason: 'rate_limit_exceeded',
      // Units times a segment's milliseconds are an exact whole number.
      maxUnits: Math.floor(Number.MAX_SAFE_INTEGER / (windowMs / segments)),
    }
  })
}

const algorithm: Algorithm<CounterState> = {
  id: 'counter',

  check(state: CounterState | undefined, entry: Entry, now: number): Verdict {
    const { limit, cost, params } = entry
    const [window = 1, segments = 1] = params
    const length = window / segments
    const { index, counts } = current(state, entry, now)
    const start = index * length
    const oldest = counts[segments] ?? 0
    const inFull = sum(counts) - oldest
    const past = Math.max(0, now - start)
    const used = inFull + Math.ceil((oldest * (length - past)) / length)
    const fits = cost === 0 || used + cost <= limit

    /** Milliseconds until no more than `room` units are in use. */
    function until(room: number): number {
      let rest = inFull
      for (let later = 0; ; later += 1) {
        const leaving = counts[segments - later] ?? 0
        const spare = room - rest
        // So many milliseconds of the segment that leaves may still be in the window.
        const part = spare >= leaving ? length : Math.floor((spare * length) / leaving)
        if (part > 0) return start + (later + 1) * length - part - now
        rest -= counts[segments - later - 1] ?? 0
      }
    }

    return {
      fits,
      available: Math.max(0, limit - used),
      resetMs: used === 0 ? start + (segments + 1) * length - now : until(used - 1),
      retryMs: fits ? 0 : cost > limit ? -1 : until(limit - cost),
    }
  },

  add(state: CounterState | undefined, entry: Entry, now: number) {
    const { cost, params } = entry
    const [window = 1, segments = 1] = params
    const { index, counts } = current(state, entry, now)
    const [newest = 0, ...older] = counts
    const goneAt = (index + segments + 1) * (window / segments)
    return {
      state: { index, counts: [newest + cost, ...older] },
      expiresAt: goneAt + window,
      place: index,
    }
  },

  settle(state: CounterState, { place, reserved, actual, params }: Settlement) {
    const [window = 1, segments = 1] = params
    const which = state.index - place
    const count = state.counts[which]
    if (count === undefined) return undefined
    // The count may have been reset since.
    const counts = state.counts.with(which, Math.max(0, count + actual - reserved))
    const goneAt = (state.index + segments + 1) * (window / segments)
    return { state: { index: state.index, counts }, expiresAt: goneAt + window }
  },

  // The value is `index:newest:…:oldest`, without the zeros at its end. It keeps a segment that is
  // later than the one of `now`, as if it had just begun: a clock that steps back over a border must
  // not find the counts gone. For the same reason a key lives a window longer than its counts.
  lua: `(function()
  local function current(entry, now)
    local segments = entry.params[2]
    local length = entry.params[1] / segments
    local index, counts, stored = math.floor(now / length), {}, redis.call('GET', entry.key)
    for place = 0, segments do counts[place] = 0 end
    if stored then
      local numbers = string.gmatch(stored, '%d+')
      local first = tonumber(numbers())
      index = math.max(index, first)
      local place = index - first
      for count in numbers do
        if place <= segments then counts[place] = tonumber(count) end
        place = place + 1
      end
    end
    return index, counts, segments, length
  end
  return {
    check = function(entry, now)
      local limit, cost = entry.limit, entry.cost
      local index, counts, segments, length = current(entry, now)
      local start, in_full = index * length, 0
      for place = 0, segments - 1 do in_full = in_full + counts[place] end
      local past = math.max(0, now - start)
      local used = in_full + math.ceil(counts[segments] * (length - past) / length)
      local function ends(room)
        local rest, later = in_full, 0
        while true do
          local leaving, spare = counts[segments - later] or 0, room - rest
          local part = spare >= leaving and length or math.floor(spare * length / leaving)
          if part > 0 then return start + (later + 1) * length - part - now end
          rest = rest - (counts[segments - later - 1] or 0)
          later = later + 1
        end
      end
      local fits = cost == 0 or used + cost <= limit
      return {
        fits = fits, available = math.max(0, limit - used),
        reset = used == 0 and start + (segments + 1) * length - now or ends(used - 1),
        retry = fits and 0 or (cost > limit and -1 or ends(limit - cost)),
        index = index, counts = counts, segments = segments, length = length,
      }
    end,
    add = function(entry, now, verdict, call)
      local counts, value = verdict.counts, ''
      counts[0] = counts[0] + entry.cost
      for place = verdict.segments, 0, -1 do
        if value ~= '' or counts[place] > 0 then
          value = string.format(':%.0f', counts[place]) .. value
        end
      end
      local gone = (verdict.index + verdict.segments + 1) * verdict.length + entry.params[1]
      local expiry = call.own and gone or gone - now + call.slack
      redis.call('SET', entry.key, string.format('%.0f', verdict.index) .. value,
        call.own and 'PXAT' or 'PX', expiry)
      return verdict.index
    end,
  }
end)()`,

  luaSettle: `function(entry)
    local stored = redis.call('GET', entry.key)
    if not stored then return end
    local numbers = {}
    for number in string.gmatch(stored, '%d+') do numbers[#numbers + 1] = number end
    local which = tonumber(numbers[1]) - entry.place + 2
    if which < 2 or not numbers[which] then return end
    local count = math.max(0, tonumber(numbers[which]) + entry.actual - entry.reserved)
    numbers[which] = string.format('%.0f', count)
    redis.call('SET', entry.key, table.concat(numbers, ':'), 'KEEPTTL')
  end`,
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

/** The counts of the segment of `now` and of those before it; or, if it is later, of the stored one. */
function current(
  state: CounterState | undefined,
  { params: [window = 1, segments = 1] }: Entry,
  now: number,
): CounterState {
  const index = Math.max(Math.floor(now / (window / segments)), state?.index ?? 0)
  const later = index - (state?.index ?? index)
  const counts = Array.from(
    { length: segments + 1 },
    (_, place) => state?.counts[place - later] ?? 0,
  )
  return { index, counts }
}
