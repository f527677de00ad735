import type { Algorithm, Entry, Settlement, Verdict } from '../algorithm.ts'
import type { Limit } from '../limit.ts'
import type { Policy, PolicyOptions } from '../policy.ts'
import { durationMs, type Duration } from '../duration.ts'
import { ConfigError } from '../errors.ts'
import { validLimit } from '../limit.ts'
import { definePolicy } from '../policy.ts'
import { knownOptions, optionsObject, plainName } from '../validate.ts'
import { logPolicies, type LogOptions, type LogWindow } from './sliding-log.ts'

/** Options of `slidingWindow` with one window. */
export interface SlidingWindowOptions extends PolicyOptions {
  /** The window's length. */
  readonly window: Duration
}

/** Options of `slidingWindow` with several windows. */
export interface SlidingWindowsOptions extends LogOptions {
  /** The windows by name, each with its own limit; the policy of each is named `<name>.<window>`. */
  readonly windows: Readonly<Record<string, { readonly limit: Limit; readonly window: Duration }>>
}

/**
 * Allows `limit` units in any stretch of time as long as `window`: exact, not an estimate. In Redis
 * it is one sorted set per partition, with one member per allowed request, whatever its cost.
 *
 * With `windows` it makes a policy of each, to be spread into a limiter's. All of them count in one
 * sorted set, so that each request is stored once.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
 * @example
 * const windows = { minute: { limit: 60, window: '1m' }, day: { limit: 9_000, window: '1d' } } as const
 * const policies = [...slidingWindow({ name: 'project', windows, per: ['project'] })]
 */
export function slidingWindow(options: SlidingWindowsOptions): Policy[]
export function slidingWindow(options: SlidingWindowOptions): Policy
export function slidingWindow(
  options: SlidingWindowOptions | SlidingWindowsOptions,
): Policy | Policy[] {
  if (typeof options === 'object' && options !== null && 'windows' in options) {
    return logPolicies('slidingWindow', options, ['windows'], windowsIn(options))
  }
  return definePolicy('slidingWindow', options, ['window', 'windows'], () => {
    const windowMs = durationMs('slidingWindow.window', options.window)
    return { algorithm, params: [windowMs], windowMs, reason: 'rate_limit_exceeded' }
  })
}

function windowsIn({ windows }: SlidingWindowsOptions): Map<string, LogWindow> {
  const where = 'slidingWindow.windows'
  optionsObject(where, windows)
  const found = new Map<string, LogWindow>()
  for (const [name, own] of Object.entries(windows)) {
    knownOptions(`${where}.${plainName(`${where}.${name}`, name)}`, own, ['limit', 'window'])
    found.set(name, {
      limit: validLimit(`${where}.${name}.limit`, own.limit),
      windowMs: durationMs(`${where}.${name}.window`, own.window),
    })
  }
  if (found.size > 0) return found
  throw new ConfigError('invalid_option', where, 'must name at least one window')
}

/** So many expired members are left in the set before they are removed, in one command. */
const PRUNE_AT = 16

/** So many members are read at once when those at hand do not decide. */
const CHUNK = 512

interface LogEntry {
  readonly at: number
  readonly cost: number
}

/** Allowed requests, oldest first. Those before `head` are removed, as they are in Redis. */
interface SlidingWindowState {
  log: LogEntry[]
  head: number
  /** Units in `log` from `head` on. */
  total: number
}

const algorithm: Algorithm<SlidingWindowState> = {
  id: 'sliding',

  check(
    state: SlidingWindowState | undefined,
    { limit, cost, params }: Entry,
    now: number,
  ): Verdict {
    const window = params[0] ?? 0
    const { log, first, used } = live(state, now - window)
    const oldest = log[first]
    const fits = cost === 0 || used + cost <= limit
    return {
      fits,
      available: Math.max(0, limit - used),
      resetMs: oldest === undefined ? window : oldest.at + window - now,
      retryMs: fits
        ? 0
        : cost > limit
          ? -1
          : freedAt(log, first, used + cost - limit) + window - now,
    }
  },

  // Expired entries are removed when the Lua twin removes them: a clock that steps back finds the
  // same ones in both.
  add(state: SlidingWindowState | undefined, { cost, params }: Entry, now: number) {
    const window = params[0] ?? 0
    const { log, head, first, used } = live(state, now - window)
    const prune = first - head >= PRUNE_AT || (log[head]?.at ?? now) <= now - 2 * window
    const keep = prune ? first : head
    const total = (prune ? used : (state?.total ?? 0)) + cost
    // The array is cut only when half of it is removed, so that each entry is moved at most once.
    const cut = keep * 2 > log.length
    const kept = cut ? log.slice(keep) : log
    const start = cut ? 0 : keep
    let place = kept.length
    while (place > start && (kept[place - 1]?.at ?? now) > now) place -= 1
    kept.splice(place, 0, { at: now, cost })
    const newest = kept.at(-1)?.at ?? now
    return {
      state: { log: kept, head: start, total },
      // By then the Lua twin would remove every member.
      expiresAt: newest + 2 * window,
      place: now,
    }
  },

  // Which of several alike is taken makes no difference.
  settle(state: SlidingWindowState, { place, reserved, actual, params }: Settlement) {
    const { log, head, total } = state
    const index = log.findLastIndex(({ at, cost }) => at === place && cost === reserved)
    if (index < head) return undefined
    if (actual > 0) log[index] = { at: place, cost: actual }
    else log.splice(index, 1)
    const newest = log.at(-1)?.at ?? place
    return {
      state: { log, head, total: total + actual - reserved },
      expiresAt: newest + 2 * (params[0] ?? 0),
    }
  },

  // Beside the requests, the set holds one member `#` whose score is minus the units in the set. It
  // sorts before all others, so one short ZRANGE reads the sum and the oldest members, and one ZADD
  // writes the sum and the new one. Expired members are subtracted while reading and removed when
  // there are PRUNE_AT of them or the oldest is two windows old; only then is the expiry of the key
  // moved, to three windows on, which is always at least a window after the newest member.
  lua: `(function()
  local function units(member) return tonumber(string.match(member, ':(%d+)$') or 1) end
  return {
    check = function(entry, now)
      local key, window, limit, cost = entry.key, entry.params[1], entry.limit, entry.cost
      local cutoff = now - window
      local rows = redis.call('ZRANGE', key, 0, ${PRUNE_AT}, 'WITHSCORES')
      if rows[1] and rows[1] ~= '#' then error('not a sliding window') end
      local total = rows[2] and -tonumber(rows[2]) or 0
      local used, expired, freed = total, 0, 0
      local oldest, head, retry = tonumber(rows[4]), nil, nil
      local at, rank, full = 3, ${PRUNE_AT + 1}, ${2 * (PRUNE_AT + 1)}
      while true do
        if at > #rows then
          if #rows < full then break end
          rows = redis.call('ZRANGE', key, rank, rank + ${CHUNK - 1}, 'WITHSCORES')
          at, rank, full = 1, rank + ${CHUNK}, ${2 * CHUNK}
          if #rows == 0 then break end
        end
        local score, cost_of_row = tonumber(rows[at + 1]), units(rows[at])
        at = at + 2
        if score <= cutoff then
          used, expired = used - cost_of_row, expired + 1
        else
          head = head or score
          if cost == 0 or used + cost <= limit or cost > limit then break end
          freed = freed + cost_of_row
          if freed >= used + cost - limit then
            retry = score - cutoff
            break
          end
        end
      end
      local fits = cost == 0 or used + cost <= limit
      return {
        fits = fits, available = math.max(0, limit - used),
        reset = head and head - cutoff or window,
        retry = fits and 0 or (cost > limit and -1 or retry or window),
        used = used, total = total, expired = expired, oldest = oldest,
      }
    end,
    add = function(entry, now, verdict, call)
      local key, cost, window = entry.key, entry.cost, entry.params[1]
      local total = verdict.total
      local prune = verdict.expired >= ${PRUNE_AT}
        or (verdict.oldest and verdict.oldest <= now - 2 * window)
      if prune then
        redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
        total = verdict.used
      end
      local member = cost == 1 and call.id or call.id .. ':' .. string.format('%.0f', cost)
      redis.call('ZADD', key, -(total + cost), '#', now, member)
      if prune or not verdict.oldest or call.slack > 0 then
        redis.call('PEXPIRE', key, 3 * window + call.slack)
      end
      return now
    end,
  }
end)()`,

  // Without the member that was the oldest, no removal falls due by its age, which would have moved the
  // expiry.
  luaSettle: `function(entry, clock)
    local key, units = entry.key, entry.actual
    local function member(cost)
      return cost == 1 and entry.id or entry.id .. ':' .. string.format('%.0f', cost)
    end
    if redis.call('ZREM', key, member(entry.reserved)) == 0 then return end
    if units > 0 then
      redis.call('ZADD', key, entry.place, member(units))
    else
      local _, _, slack = clock()
      redis.call('PEXPIRE', key, 3 * entry.params[1] + slack)
    end
    redis.call('ZINCRBY', key, entry.reserved - units, '#')
  end`,
}

/** The log, its first entry after `cutoff`, and the units from there on. */
function live(
  state: SlidingWindowState | undefined,
  cutoff: number,
): { log: LogEntry[]; head: number; first: number; used: number } {
  const { log, head, total } = state ?? { log: [], head: 0, total: 0 }
  let [first, used] = [head, total]
  for (;;) {
    const entry = log[first]
    if (entry === undefined || entry.at > cutoff) return { log, head, first, used }
    used -= entry.cost
    first += 1
  }
}

/** When (epoch ms) the entry was added whose expiry frees the last of `need` units. */
function freedAt(log: readonly LogEntry[], first: number, need: number): number {
  let freed = 0
  for (let index = first; index < log.length; index += 1) {
    const entry = log[index] as LogEntry
    freed += entry.cost
    if (freed >= need) return entry.at
  }
  return log.at(-1)?.at ?? 0
}
