import type { Algorithm, Entry, Settlement, Verdict } from '../algorithm.ts'
import type { Limit } from '../limit.ts'
import type { Policy, PolicyOptions } from '../policy.ts'
import { ConfigError } from '../errors.ts'
import { definePolicy } from '../policy.ts'
import { MAX_UNITS, plainName } from '../validate.ts'

/** Options of policies over one log: those of every policy, but for what each window has of its own. */
export type LogOptions = Omit<PolicyOptions, 'limit' | 'shards'>

/** A window over a log. */
export interface LogWindow {
  readonly limit: Limit
  readonly windowMs: number
}

/**
 * Sums in a log begin again from 0 here: far enough below 2^53 for every sum and difference to be exact.
 * Not within a millisecond, whose members are in the order of their sums.
 */
const TURN = 8_000_000_000_000_000

/** So many of the newest members are read at once: a window that begins among them costs no more. */
const LATEST = 64

/** So many members are read at once to find when a large cost fits. */
const CHUNK = 512

/** Makes a policy of each window, by its name. All of them count in one log. */
export function logPolicies(
  where: string,
  options: LogOptions,
  ownOptions: readonly string[],
  windows: ReadonlyMap<string, LogWindow>,
): Policy[] {
  for (const option of ['limit', 'shards'] as const) {
    if ((options as Partial<PolicyOptions>)[option] === undefined) continue
    const message = 'has no meaning for several windows, which count in one log, each to its limit'
    throw new ConfigError('invalid_option', `${where}.${option}`, message)
  }
  const { unit = 'request' } = options
  const name = plainName(`${where}.name`, options.name)
  const lengths = Array.from(windows.values(), ({ windowMs }) => windowMs)
  const longest = Math.max(...lengths)
  // Whichever of the windows binds, what the longest one holds stays below a turn of the sums.
  const turns = windows.size * (Math.floor(longest / Math.min(...lengths)) + 1)
  const log = { name: unit === 'request' ? name : `${name}:${unit}`, params: [longest] }
  return Array.from(windows, ([windowName, { limit, windowMs }]) =>
    definePolicy(where, { ...options, name: `${name}.${windowName}`, limit }, ownOptions, () => ({
      algorithm,
      params: [windowMs, longest],
      windowMs,
      reason: 'rate_limit_exceeded',
      maxUnits: Math.min(MAX_UNITS, Math.floor(TURN / turns)),
      log,
    })),
  )
}

interface LogEntry {
  readonly at: number
  readonly cost: number
  /** Units of all entries so far, this one included; begins again at a turn. */
  readonly sum: number
}

/** Allowed requests, oldest first. */
interface LogState {
  readonly log: LogEntry[]
}

const algorithm: Algorithm<LogState> = {
  id: 'log',

  check(state: LogState | undefined, { limit, cost, params }: Entry, now: number): Verdict {
    const [window = 1] = params
    const cutoff = now - window
    const log = state?.log ?? []
    const oldest = log[firstOf(log, ({ at }) => at > cutoff)]
    const before = oldest === undefined ? 0 : oldest.sum - oldest.cost
    const used = oldest === undefined ? 0 : turned((log.at(-1)?.sum ?? 0) - before)
    const fits = cost === 0 || used + cost <= limit
    const need = used + cost - limit
    const enough = ({ at, sum }: LogEntry): boolean => at > cutoff && turned(sum - before) >= need
    return {
      fits,
      available: Math.max(0, limit - used),
      resetMs: oldest === undefined ? window : oldest.at - cutoff,
      retryMs: fits ? 0 : cost > limit ? -1 : (log[firstOf(log, enough)]?.at ?? now) - cutoff,
    }
  },

  // Expired entries are removed when the Lua twin removes them: a clock that steps back finds the
  // same ones in both.
  add(state: LogState | undefined, { cost, params }: Entry, now: number) {
    const longest = params[1] ?? 1
    const newest = state?.log.at(-1)
    const at = Math.max(now, newest?.at ?? 0)
    const total = (newest?.sum ?? 0) + cost
    const sum = at === newest?.at ? total : turned(total)
    const prune = slotOf(at, longest) > slotOf(newest?.at ?? at, longest)
    const log = state?.log ?? []
    const kept = prune ? log.slice(firstOf(log, (entry) => entry.at > now - longest)) : log
    kept.push({ at, cost, sum })
    return { state: { log: kept }, expiresAt: at + longest, place: at }
  },

  // Which of several alike is taken makes no difference. The sums after it change with it.
  settle({ log }: LogState, { place, reserved, actual, params }: Settlement, now: number) {
    const index = log.findIndex(({ at, cost }) => at === place && cost === reserved)
    if (index < 0) return undefined
    const kept = log.slice(0, index)
    for (const { at, cost, sum } of log.slice(index)) {
      const own = sum === log[index]?.sum ? actual : cost
      if (own > 0) kept.push({ at, cost: own, sum: turned(sum + actual - reserved) })
    }
    return { state: { log: kept }, expiresAt: (kept.at(-1)?.at ?? now) + (params[1] ?? 1) }
  },

  // A member is `sum:cost`, its score the time, which never goes back: so sums rise with scores, and
  // the units in a window are the last sum less what the first member in the window had before it.
  // Expired members are removed, and the expiry of the key moved, only when an eighth of the longest
  // window has passed since the member before.
  lua: `(function()
  local TURN = ${TURN}
  local function place(rows, cutoff)
    local low, high = 1, #rows / 2 + 1
    while low < high do
      local middle = math.floor((low + high) / 2)
      if tonumber(rows[2 * middle]) > cutoff then high = middle else low = middle + 1 end
    end
    return low
  end
  local function numbers(rows, at)
    local sum, cost = string.match(rows[2 * at - 1], '^(%d+):(%d+)$')
    return tonumber(sum), tonumber(cost), tonumber(rows[2 * at])
  end
  return {
    check = function(entry, now)
      local key, limit, cost, log = entry.key, entry.limit, entry.cost, entry.shared
      local cutoff = now - entry.params[1]
      local function after(offset, count)
        return redis.call('ZRANGE', key, string.format('(%.0f', cutoff), '+inf', 'BYSCORE',
          'LIMIT', offset, count, 'WITHSCORES')
      end
      if not log.rows then
        log.rows = redis.call('ZRANGE', key, -${LATEST}, -1, 'WITHSCORES')
        log.sum = 0
        if log.rows[1] then
          local sum, _, newest = numbers(log.rows, #log.rows / 2)
          log.sum, log.newest = sum, newest
        end
      end
      local rows, at = log.rows, place(log.rows, cutoff)
      local next_offset = nil
      if at == 1 and #rows == ${2 * LATEST} then rows, next_offset = after(0, 1), 1 end
      local used, reset, retry = 0, entry.params[1], 0
      if rows[2 * at] then
        local sum, own, score = numbers(rows, at)
        local before = sum - own
        used, reset = (log.sum - before) % TURN, score - cutoff
        local need = used + cost - limit
        while cost > 0 and cost <= limit and (sum - before) % TURN < need do
          at = at + 1
          if not rows[2 * at] then
            rows, at, next_offset = after(next_offset, ${CHUNK}), 1, next_offset + ${CHUNK}
          end
          sum, own, score = numbers(rows, at)
        end
        retry = score - cutoff
      end
      local fits = cost == 0 or used + cost <= limit
      return {
        fits = fits, available = math.max(0, limit - used), reset = reset,
        retry = fits and 0 or (cost > limit and -1 or retry),
      }
    end,
    add = function(entry, now, verdict, call)
      local key, longest, log = entry.key, entry.params[2], entry.shared
      local slot, at = math.ceil(longest / 8), math.max(now, log.newest or 0)
      local sum = log.sum + entry.cost
      if at ~= log.newest then sum = sum % TURN end
      local later = log.newest and math.floor(at / slot) > math.floor(log.newest / slot)
      if later then redis.call('ZREMRANGEBYSCORE', key, '-inf', now - longest) end
      redis.call('ZADD', key, at, string.format('%016.0f:%.0f', sum, entry.cost))
      if later or not log.newest or call.slack > 0 then
        redis.call('PEXPIRE', key, 2 * longest + call.slack)
      end
      return at
    end,
  }
end)()`,

  // A set that loses its last member loses its expiry with it.
  luaSettle: `function(entry, clock)
    local _, _, slack = clock()
    local from, more = string.format('%.0f', entry.place), entry.actual - entry.reserved
    local rows = redis.call('ZRANGE', entry.key, from, '+inf', 'BYSCORE', 'WITHSCORES')
    local first, before, after = nil, {}, {}
    for at = 1, #rows, 2 do
      local sum, cost = string.match(rows[at], '^(%d+):(%d+)$')
      local is_it = not first and tonumber(rows[at + 1]) == entry.place and tonumber(cost) == entry.reserved
      first = first or is_it
      if first then
        if is_it then cost = entry.actual end
        before[#before + 1] = rows[at]
        if tonumber(cost) > 0 then
          after[#after + 1] = rows[at + 1]
          after[#after + 1] = string.format('%016.0f:%.0f', (tonumber(sum) + more) % ${TURN}, cost)
        end
      end
    end
    local function each(command, list)
      for at = 1, #list, 1000 do
        redis.call(command, entry.key, unpack(list, at, math.min(#list, at + 999)))
      end
    end
    each('ZREM', before)
    each('ZADD', after)
    if after[1] then redis.call('PEXPIRE', entry.key, 2 * entry.params[2] + slack) end
  end`,
}

/** Sums go on from 0 after a turn, and differences with them. */
const turned = (units: number): number =>
  units < 0 ? units + TURN : units >= TURN ? units - TURN : units

const slotOf = (at: number, longest: number): number => Math.floor(at / Math.ceil(longest / 8))

/** The index of the first entry of which `holds` is true, as it is of all after it. */
function firstOf(log: readonly LogEntry[], holds: (entry: LogEntry) => boolean): number {
  let [low, high] = [0, log.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(log[middle] as LogEntry)) high = middle
    else low = middle + 1
  }
  return low
}
