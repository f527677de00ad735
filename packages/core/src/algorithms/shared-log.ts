/*
 * Several windows over one log. Each member carries a running sum: the units of all requests so far, its own included. The
 * units in a window are one subtraction then: the newest sum less the sum before the first member in the window, which a
 * binary search finds.
 *
 * A sum that only grew would leave the integers that a double holds exactly. So it wraps to 0 at SUM_MODULUS, like an
 * odometer, and so do differences of sums. They stay right as long as the log holds fewer units than the modulus, which the
 * policy's `maxUnits` makes sure of.
 */
import type { Algorithm, AlgorithmInput, Settlement, SettlementTwins } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

/** The number at which sums wrap to 0: so far below 2^53 that every sum and difference is exact. */
export const SUM_MODULUS = 8_000_000_000_000_000

/** The newest members, read at once. A window that begins among them costs no other command. */
const LATEST = 64

/** Members read at once to find when a large cost fits, and rewritten at most to correct one of them. */
const CHUNK = 512

/** One allowed request. */
interface Member {
  readonly at: number
  readonly cost: number
  /** Units of all members so far, this one included, wrapped. */
  readonly sum: number
}

/** The oldest first. */
type LogState = Member[]

/**
 * Counts in several windows over one log. Exact: the log holds one member per allowed request, for all windows. Its params:
 * a window, and the longest of the windows, in milliseconds.
 */
export const sharedLogAlgorithm: Algorithm<LogState> = {
  id: 'log',

  check(members: LogState = [], input: AlgorithmInput, now: number) {
    const { limit, cost, params } = input
    const [window = 1] = params
    const cutoff = now - window
    const first = members[firstIndex(members, ({ at }) => at > cutoff)]
    if (first === undefined) return windowFinding(input, 0, window, () => window)
    const before = first.sum - first.cost
    const used = wrapSum((members.at(-1)?.sum ?? 0) - before)
    const excess = used + cost - limit
    const frees = ({ at, sum }: Member): boolean => at > cutoff && wrapSum(sum - before) >= excess
    const retryMs = (): number => (members[firstIndex(members, frees)]?.at ?? now) - cutoff
    return windowFinding(input, used, first.at - cutoff, retryMs)
  },

  add: (members: LogState = [], { cost, params: [, longest = 1] }, now: number) =>
    append(members, cost, longest, now),

  // A member is `sum:cost`, and its score is the time, which never goes back. So sums rise with scores.
  lua: ([window = 1, longest = 1]) => ({
    keeps: ['rows', 'total', 'newest', 'at'],
    read: luaReadLatest,
    check: luaFindFirst(window) + luaCountUsed(window) + fitWindow('reset', 'retry'),
    add: `local total, newest = $total, $newest
${luaAppend(longest, 'cost')}
$at = at`,
    position: '$at',
  }),
}

/** Corrects the charges in a shared log. */
export const sharedLogSettlement: SettlementTwins<LogState> = {
  needsTime: true,

  // All later sums change with the charge. If these are too many, nothing is given back, and units beyond it are charged now.
  settle(members: LogState = [], settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const [, longest = 1] = params
    const more = actual - reserved
    const expired = position <= now - longest
    const from = firstIndex(members, ({ at }) => at >= position)
    // Equal members are interchangeable.
    const index = members.findIndex(({ at, cost }) => at === position && cost === reserved)
    const inPlace = members.length - from <= CHUNK && !(more > 0 && expired)
    if (index >= 0 && inPlace) {
      const corrected = replaceCost(members, index, actual)
      const expiresAt = (corrected.at(-1)?.at ?? now) + longest
      return { state: corrected, expiresAt, applied: expired ? 0 : more }
    }
    if (more <= 0) return undefined
    return { ...append(members, more, longest, now), applied: more }
  },

  // A set that loses its last member loses its expiry with it, so the expiry is set again.
  lua: ([
    ,
    longest = 1,
  ]) => `local rows = redis.call('ZRANGE', key, string.format('%.0f', position), '+inf', 'BYSCORE', 'LIMIT', 0, ${CHUNK + 1}, 'WITHSCORES')
local more, index, members = actual - reserved, nil, {}
local expired = position <= now - ${longest}
for row = 1, #rows, 2 do
  local sum, cost = ${luaParse('rows[row]')}
  if not sum or #sum ~= 16 then ${FOREIGN} end
  if not index and tonumber(rows[row + 1]) == position and tonumber(cost) == reserved then
    index, cost = row, actual
  end
  if index and tonumber(cost) > 0 then
    members[#members + 1] = rows[row + 1]
    members[#members + 1] = ${luaMember(luaWrapSum('sum + more'), 'cost')}
  end
end
if index and #rows <= ${2 * CHUNK} and not (more > 0 and expired) then
  applied = expired and 0 or more
  local old = {}
  for row = index, #rows, 2 do old[#old + 1] = rows[row] end
  redis.call('ZREM', key, unpack(old))
  if #members > 0 then
    redis.call('ZADD', key, unpack(members))
    redis.call('PEXPIRE', key, ${2 * longest} + slack)
  end
elseif more > 0 then
  applied = more
  local rows, total, newest = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES'), 0, nil
  ${luaParseNewest()}
  ${luaAppend(longest, 'more')}
end`,
}

/** Wraps a sum, or a difference of two, into 0 … SUM_MODULUS. */
const wrapSum = (sum: number): number =>
  sum < 0 ? sum + SUM_MODULUS : sum >= SUM_MODULUS ? sum - SUM_MODULUS : sum

/** The Lua twin of `wrapSum`. */
const luaWrapSum = (sum: string): string => `(${sum}) % ${SUM_MODULUS}`

/** Expired members are removed, and the expiry of the key is moved, once in an eighth of the longest window. */
const pruneEveryMs = (longest: number): number => Math.ceil(longest / 8)

/** Appends a member with this cost. Time in a log never goes back. */
function append(members: LogState, cost: number, longest: number, now: number) {
  const newest = members.at(-1)
  const at = Math.max(now, newest?.at ?? 0)
  const total = (newest?.sum ?? 0) + cost
  // Members of one millisecond are in the order of their sums, so these do not wrap.
  const sum = at === newest?.at ? total : wrapSum(total)
  // Removed whenever the Lua twin does, so that both find the same members if the clock steps back.
  const every = pruneEveryMs(longest)
  const prunes = newest && Math.floor(at / every) > Math.floor(newest.at / every)
  const first = prunes ? firstIndex(members, (member) => member.at > now - longest) : 0
  const live = first > 0 ? members.slice(first) : members
  live.push({ at, cost, sum })
  return { state: live, expiresAt: at + longest, position: at }
}

/** The Lua twin of `append`: `newest` is the time of the newest member, `total` its sum. */
const luaAppend = (longest: number, cost: string): string => `local at = math.max(now, newest or 0)
total = total + ${cost}
if at ~= newest then total = ${luaWrapSum('total')} end
local prunes = newest and math.floor(at / ${pruneEveryMs(longest)}) > math.floor(newest / ${pruneEveryMs(longest)})
if prunes then redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ${longest}) end
redis.call('ZADD', key, at, ${luaMember('total', cost)})
if prunes or not newest or skewed then redis.call('PEXPIRE', key, ${2 * longest} + slack) end`

/** Returns the members with another cost for one. The sums after it move by the difference. */
function replaceCost(members: LogState, index: number, actual: number): LogState {
  const more = actual - (members[index]?.cost ?? 0)
  const corrected = members.slice(0, index)
  for (const [offset, { at, cost, sum }] of members.slice(index).entries()) {
    const units = offset === 0 ? actual : cost
    if (units > 0) corrected.push({ at, cost: units, sum: wrapSum(sum + more) })
  }
  return corrected
}

/** Binary search: the index of the first member for which `holds` is true, as it is for all after it. */
function firstIndex(members: LogState, holds: (member: Member) => boolean): number {
  let [low, high] = [0, members.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(members[middle] as Member)) high = middle
    else low = middle + 1
  }
  return low
}

const luaMember = (sum: string, cost: string): string =>
  `string.format('%016.0f:%.0f', ${sum}, ${cost})`

/** Lua that reads the sum and the cost of a member. */
const luaParse = (member: string): string => `string.match(${member}, '^(%d+):(%d+)$')`

/** Lua that reads the sum and the time of the newest member, the last of `rows`, and verifies its form. */
const luaParseNewest = (sigil = ''): string => `if ${sigil}rows[1] then
  local sum = ${luaParse(`${sigil}rows[#${sigil}rows - 1]`)}
  if not sum or #sum ~= 16 then ${FOREIGN} end
  ${sigil}total, ${sigil}newest = tonumber(sum), tonumber(${sigil}rows[#${sigil}rows])
end`

/** Reads the newest members, once for all windows. */
const luaReadLatest = `$rows, $total = redis.call('ZRANGE', key, -${LATEST}, -1, 'WITHSCORES'), 0
${luaParseNewest('$')}`

/**
 * Finds the first member in the window: `low` is its position in `rows`. If it is older than all that were read, `rows`
 * becomes that one alone, and `after` the number of members in the window before the next read.
 */
const luaFindFirst = (
  window: number,
): string => `local rows, cutoff, after = $rows, now - ${window}, nil
local low, high = 1, #rows / 2 + 1
while low < high do
  local middle = math.floor((low + high) / 2)
  if tonumber(rows[2 * middle]) > cutoff then high = middle else low = middle + 1 end
end
local from = string.format('(%.0f', cutoff)
if low == 1 and #rows == ${2 * LATEST} then
  rows, after = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES'), 1
end
`

/**
 * Subtracts sums to find the units in the window, and, for a cost that does not fit, reads on to the member whose expiry
 * makes room. If each member has one unit, it is the one that as many follow as may stay.
 */
const luaCountUsed = (window: number): string => `local used = 0
reset = ${window}
if rows[2 * low] then
  local sum, units = ${luaParse('rows[2 * low - 1]')}
  if not sum then ${FOREIGN} end
  local at, before = tonumber(rows[2 * low]), sum - units
  used, reset = ${luaWrapSum('$total - before')}, at - cutoff
  if cost > 0 and cost <= limit then
    local excess = used + cost - limit
    while ${luaWrapSum('sum - before')} < excess do
      low = low + 1
      if not rows[2 * low] and units == '1' then
        local last = cost - limit - 1
        local one = redis.call('ZRANGE', key, last, last, 'WITHSCORES')
        sum, units = ${luaParse("one[1] or ''")}
        at = one[2]
        if sum and ${luaWrapSum('sum - before')} >= excess and ${luaWrapSum('sum - units - before')} < excess then break end
        units = nil
      end
      if not rows[2 * low] then
        rows, low = redis.call('ZRANGE', key, from, '+inf', 'BYSCORE', 'LIMIT', after, ${CHUNK}, 'WITHSCORES'), 1
        after = after + ${CHUNK}
      end
      sum, at = ${luaParse('rows[2 * low - 1]')}, tonumber(rows[2 * low])
    end
  end
  retry = at - cutoff
end`
