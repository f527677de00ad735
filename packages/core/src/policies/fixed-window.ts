import type { Algorithm, Entry, Settlement, Verdict } from '../algorithm.ts'
import type { Policy, PolicyOptions } from '../policy.ts'
import { durationMs, type Duration } from '../duration.ts'
import { definePolicy } from '../policy.ts'

/** Options of `fixedWindow`. */
export interface FixedWindowOptions extends PolicyOptions {
  /** The window, aligned to the Unix epoch, so that `'1d'` starts at midnight UTC. */
  readonly window: Duration
}

const DAY_MS = 86_400_000

/** Stands for a calendar month where a window's milliseconds would stand. */
const CALENDAR_MONTH = 0

interface FixedWindowState {
  readonly used: number
  /** When the window ends, in epoch ms. */
  readonly end: number
}

/**
 * Allows `limit` units in each window of a fixed grid, such as each hour by the clock. One number in
 * Redis, whatever the traffic; but up to twice the limit can pass within one window's length, around
 * the border of two windows. Use it for quotas, and `slidingWindow` for rates.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * fixedWindow({ name: 'hourly', limit: 1_000, window: '1h', per: ['tenant'] })
 */
export function fixedWindow(options: FixedWindowOptions): Policy {
  return definePolicy('fixedWindow', options, ['window'], () => {
    const windowMs = durationMs('fixedWindow.window', options.window)
    return { algorithm, params: [windowMs], windowMs, reason: 'rate_limit_exceeded' }
  })
}

/**
 * Allows `limit` units each calendar day in UTC. A denial's reason is `daily_quota_exceeded`, and its
 * key in Redis expires exactly at midnight.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] })
 */
export function dailyCap(options: PolicyOptions): Policy {
  return definePolicy('dailyCap', options, [], () => ({
    algorithm,
    params: [DAY_MS],
    windowMs: DAY_MS,
    reason: 'daily_quota_exceeded',
  }))
}

/**
 * Allows `limit` units each calendar month in UTC. A denial's reason is `monthly_quota_exceeded`.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * monthlyCap({ name: 'monthly', limit: 10_000, per: ['tenant'] })
 */
export function monthlyCap(options: PolicyOptions): Policy {
  return definePolicy('monthlyCap', options, [], () => ({
    algorithm,
    params: [CALENDAR_MONTH],
    windowMs: 31 * DAY_MS,
    reason: 'monthly_quota_exceeded',
  }))
}

const algorithm: Algorithm<FixedWindowState> = {
  id: 'fixed',

  check(state: FixedWindowState | undefined, { limit, cost, params }: Entry, now: number): Verdict {
    const { used, end } = current(state, now, params[0] ?? DAY_MS)
    const fits = cost === 0 || used + cost <= limit
    return {
      fits,
      available: Math.max(0, limit - used),
      resetMs: end - now,
      retryMs: fits ? 0 : cost > limit ? -1 : end - now,
    }
  },

  add(state: FixedWindowState | undefined, { cost, params }: Entry, now: number) {
    const { used, end } = current(state, now, params[0] ?? DAY_MS)
    return { state: { used: used + cost, end }, expiresAt: end, place: end }
  },

  settle({ used, end }: FixedWindowState, { place, reserved, actual }: Settlement) {
    if (end !== place) return undefined
    // The count may have been reset since.
    return { state: { used: Math.max(0, used + actual - reserved), end }, expiresAt: end }
  },

  // The value is `end:used`. It names its window because a key's expiry follows the server's clock
  // alone, and it keeps a window that ends later than the one of `now`: a clock that steps back over
  // the border must not open a second budget. SET writes count and expiry in one command. By Redis'
  // own clock the expiry is a moment, because a length would be added to a time read later or earlier.
  lua: `(function()
  local DAY = ${DAY_MS}
  local function leap(year) return (year % 4 == 0 and year % 100 ~= 0) or year % 400 == 0 end
  local function month_end(now)
    local days, year = math.floor(now / DAY), 1970
    while days >= (leap(year) and 366 or 365) do
      days = days - (leap(year) and 366 or 365)
      year = year + 1
    end
    for _, length in ipairs({ 31, leap(year) and 29 or 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }) do
      if days < length then return (math.floor(now / DAY) - days + length) * DAY end
      days = days - length
    end
  end
  return {
    check = function(entry, now)
      local window, limit, cost = entry.params[1], entry.limit, entry.cost
      local finish = window == ${CALENDAR_MONTH} and month_end(now) or now - now % window + window
      local used, stored = 0, redis.call('GET', entry.key)
      if stored then
        local stored_finish, stored_used = string.match(stored, '^(%d+):(%d+)$')
        stored_finish = tonumber(stored_finish)
        if stored_finish >= finish then finish, used = stored_finish, tonumber(stored_used) end
      end
      local fits = cost == 0 or used + cost <= limit
      local retry = fits and 0 or (cost > limit and -1 or finish - now)
      return {
        fits = fits, available = math.max(0, limit - used), reset = finish - now, retry = retry,
        used = used, finish = finish,
      }
    end,
    add = function(entry, now, verdict, call)
      local value = string.format('%.0f:%.0f', verdict.finish, verdict.used + entry.cost)
      local at = call.own and verdict.finish or verdict.finish - now + call.slack
      redis.call('SET', entry.key, value, call.own and 'PXAT' or 'PX', at)
      return verdict.finish
    end,
  }
end)()`,

  // The window that was charged may be over, and another one counted in its place.
  luaSettle: `function(entry)
    local stored = redis.call('GET', entry.key)
    local finish, used = string.match(stored or '', '^(%d+):(%d+)$')
    if tonumber(finish) ~= entry.place then return end
    local corrected = math.max(0, tonumber(used) + entry.actual - entry.reserved)
    redis.call('SET', entry.key, string.format('%.0f:%.0f', entry.place, corrected), 'KEEPTTL')
  end`,
}

function current(
  state: FixedWindowState | undefined,
  now: number,
  window: number,
): FixedWindowState {
  const end = window === CALENDAR_MONTH ? monthEnd(now) : now - (now % window) + window
  return state !== undefined && state.end >= end ? state : { used: 0, end }
}

function monthEnd(now: number): number {
  const date = new Date(now)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}
