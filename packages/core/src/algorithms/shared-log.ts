import type { Algorithm, AlgorithmInput, Settlement, SettlementTwins } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

/**
 * Sums in a log begin again from 0 here: far enough below 2^53 for every sum and difference to be exact.
 * Not within a millisecond, whose members are in the order of their sums.
 */
export const SUM_MODULUS = 8_000_000_000_000_000

/** The newest members that are read at once: a window that begins among them costs no more. */
const LATEST = 64

/** Members read at once to find when a large cost fits; and rewritten at most to correct one of them. */
const CHUNK = 512

interface LogEntry {
  readonly at: number
  readonly cost: number
  /** Units of all entries so far, this one included; begins again at the modulus. */
  readonly sum: number
}

/** Allowed requests, oldest first. */
interface LogState {
  readonly log: LogEntry[]
}

/**
 * Counts in several windows over one log: exact, one entry per allowed request for all of them. Its
 * params: a window, and the longest of the windows, in milliseconds.
 */
export const sharedLogAlgorithm: Algorithm<LogState> = {
  id: 'log',

  check(state: LogState | undefined, input: AlgorithmInput, now: number) {
    const { limit, cost, params } = input
    const [window = 1] = params
    const cutoff = now - window
    const log = state?.log ?? []
    const oldest = log[firstOf(log, ({ at }) => at > cutoff)]
    const before = oldest === undefined ? 0 : oldest.sum - oldest.cost
    const used = oldest === undefined ? 0 : wrapSum((log.at(-1)?.sum ?? 0) - before)
    const need = used + cost - limit
    const enough = ({ at, sum }: LogEntry): boolean => at > cutoff && wrapSum(sum - before) >= need
    const resetMs = oldest === undefined ? window : oldest.at - cutoff
    return windowFinding(
      input,
      used,
      resetMs,
      () => (log[firstOf(log, enough)]?.at ?? now) - cutoff,
    )
  },

  // Expired entries are removed when the Lua twin removes them: a clock that steps back finds the
  // same ones in both.
  add(state: LogState | undefined, { cost, params }: AlgorithmInput, now: number) {
    const longest = params[1] ?? 1
    const newest = state?.log.at(-1)
    const at = Math.max(now, newest?.at ?? 0)
    const total = (newest?.sum ?? 0) + cost
    const sum = at === newest?.at ? total : wrapSum(total)
    const prune = slotOf(at, longest) > slotOf(newest?.at ?? at, longest)
    const log = state?.log ?? []
    const kept = prune ? log.slice(firstOf(log, (entry) => entry.at > now - longest)) : log
    kept.push({ at, cost, sum })
    return { state: { log: kept }, expiresAt: at + longest, position: at }
  },

  // A member is `sum:cost`, its score the time, which never goes back: so sums rise with scores, and
  // the units in a window are the last sum less what the first member in the window had before it.
  // Expired members are removed, and the expiry of the key moved, only when an eighth of the longest
  // window has passed since the member before.
  lua([window = 1, longest = 1]) {
    const append = luaAppend(longest)
    return {
      keeps: ['rows', 'total', 'newest', 'at'],
      read: `$rows, $total = redis.call('ZRANGE', key, -${LATEST}, -1, 'WITHSCORES'), 0
if $rows[1] then
  local sum = ${luaParse('$rows[#$rows - 1]')}
  if not sum or #sum ~= 16 then ${FOREIGN} end
  $total, $newest = tonumber(sum), tonumber($rows[#$rows])
end`,
      check: `local rows, cutoff, after = $rows, now - ${window}, nil
local low, high = 1, #rows / 2 + 1
while low < high do
  local middle = math.floor((low + high) / 2)
  if tonumber(rows[2 * middle]) > cutoff then high = middle else low = middle + 1 end
end
local from = string.format('(%.0f', cutoff)
if low == 1 and #rows == ${2 * LATEST} then
  rows, after = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'), 1
end
local used, free, later = 0, ${window}, 0
if rows[2 * low] then
  local sum, own = ${luaParse('rows[2 * low - 1]')}
  if not sum then ${FOREIGN} end
  local score, before = tonumber(rows[2 * low]), sum - own
  used, free = ($total - before) % ${SUM_MODULUS}, score - cutoff
  if cost > 0 and cost <= limit then
    local need = used + cost - limit
    while (sum - before) % ${SUM_MODULUS} < need do
      low = low + 1
      if not rows[2 * low] then
        rows, low = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', after, ${CHUNK}, 'WITHSCORES'), 1
        after = after + ${CHUNK}
      end
      sum, score = ${luaParse('rows[2 * low - 1]')}, tonumber(rows[2 * low])
    end
  end
  later = score - cutoff
end${fitWindow('free', 'later')}`,
      add: `local total, newest = $total, $newest
${append('cost')}
$at = at`,
      position: '$at',
    }
  },
}

/** How charges in a shared log are corrected. */
export const sharedLogSettlement: SettlementTwins<LogState> = {
  needsTime: true,

  // Of several alike, any will do. The sums after it change with it, so they may not be too many: past
  // that nothing is given back, and what was used beyond the charge is charged now.
  settle(state: LogState | undefined, settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const [, longest = 1] = params
    const log = state?.log ?? []
    const applied = actual - reserved
    const from = firstOf(log, ({ at }) => at >= position)
    const index = log.findIndex(({ at, cost }) => at === position && cost === reserved)
    const isOver = applied > 0 && position <= now - longest
    if (index < 0 || log.length - from > CHUNK || isOver) {
      if (applied <= 0) return undefined
      const input = { ...settlement, cost: applied }
      return { ...sharedLogAlgorithm.add(state, input, now, ''), applied }
    }
    const kept = log.slice(0, index)
    for (const [offset, { at, cost, sum }] of log.slice(index).entries()) {
      const own = offset === 0 ? actual : cost
      if (own > 0) kept.push({ at, cost: own, sum: wrapSum(sum + applied) })
    }
    const expiresAt = (kept.at(-1)?.at ?? now) + longest
    return { state: { log: kept }, expiresAt, applied: position <= now - longest ? 0 : applied }
  },

  // A set that loses its last member loses its expiry with it.
  lua([, longest = 1]) {
    const append = luaAppend(longest)
    return `local rows = redis.call('ZRANGE', key, string.format('%.0f', position), '+inf', 'BYSCORE', 'LIMIT', 0, ${CHUNK + 1}, 'WITHSCORES')
local more, found = actual - reserved, nil
local gone, members = #rows > ${2 * CHUNK} or more > 0 and position <= now - ${longest}, {}
for at = 1, #rows, 2 do
  local sum, cost = ${luaParse('rows[at]')}
  if not sum or #sum ~= 16 then ${FOREIGN} end
  local score = tonumber(rows[at + 1])
  local is_it = not found and score == position and tonumber(cost) == reserved
  if is_it then found, cost = at, actual end
  if found and tonumber(cost) > 0 then
    members[#members + 1] = rows[at + 1]
    members[#members + 1] = string.format('%016.0f:%.0f', (sum + more) % ${SUM_MODULUS}, cost)
  end
end
if found and not gone then
  applied = position > now - ${longest} and more or 0
  local old = {}
  for at = found, #rows, 2 do old[#old + 1] = rows[at] end
  redis.call('ZREM', key, unpack(old))
  if members[1] then
    redis.call('ZADD', key, unpack(members))
    redis.call('PEXPIRE', key, ${2 * longest} + slack)
  end
elseif more > 0 then
  applied = more
  local last, total, newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES'), 0, nil
  if last[1] then
    local sum = ${luaParse('last[1]')}
    if not sum or #sum ~= 16 then ${FOREIGN} end
    total, newest = tonumber(sum), tonumber(last[2])
  end
  ${append('more')}
end`
  },
}

/** Lua that reads the sum and the cost in a member. */
const luaParse = (member: string): string => `string.match(${member}, '^(%d+):(%d+)$')`

/** Lua that adds a member. */
function luaAppend(longest: number): (cost: string) => string {
  const slot = Math.ceil(longest / 8)
  return (cost: string): string => `local at = math.max(now, newest or 0)
total = total + ${cost}
if at ~= newest then total = total % ${SUM_MODULUS} end
local later = newest and math.floor(at / ${slot}) > math.floor(newest / ${slot})
if later then redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ${longest}) end
redis.call('ZADD', key, at, string.format('%016.0f:%.0f', total, ${cost}))
if later or not newest or skewed then redis.call('PEXPIRE', key, ${2 * longest} + slack) end`
}

/** Sums go on from 0 after the modulus, and differences with them. */
const wrapSum = (units: number): number =>
  units < 0 ? units + SUM_MODULUS : units >= SUM_MODULUS ? units - SUM_MODULUS : units

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
