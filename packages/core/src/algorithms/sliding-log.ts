/*
 * One window over one log.
 *
 * The log also holds the total of its units, so that a window is counted from its expired end: the total less
 * the few members that have expired since they were last removed. In Redis the total is the score of a member
 * `#`, made negative so that it comes first: one short ZRANGE reads it with the oldest members, and one ZADD
 * writes it with a new one.
 */
import type { Algorithm, AlgorithmInput, Settlement, SettlementTwins } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

/** Expired members are left in the log until there are this many, then removed by one command. */
const PRUNE_AT = 16

/** Members read at once when the first ones do not decide. */
const CHUNK = 512

/** A Lua condition: `rows` do not begin with the total of the set. */
const NO_TOTAL = `rows[1] ~= '#' or total < 1 or total % 1 ~= 0`

/** The Lua pattern of a request's member: its id, and its units unless they are 1. */
const MEMBER = '^%w+:?(%d*)$'

/** Lua: the member of a request of so many units. */
const memberOf = (units: string): string =>
  `${units} == 1 and id or string.format('%s:%.0f', id, ${units})`

/** One allowed request. */
interface Member {
  readonly id: string
  readonly at: number
  readonly cost: number
}

/** Allowed requests, oldest first. Changed in place, because only the store refers to it. */
interface LogState {
  members: Member[]
  /** The index of the first member that has not been removed. */
  head: number
  /** Units of the members from `head` on, expired ones included. */
  total: number
}

/** Counts in any stretch as long as one window. Exact: the log holds one member per allowed request. */
export const slidingLogAlgorithm: Algorithm<LogState> = {
  id: 'sliding',
  traits: { slides: true, lengthen: ([window = 0], ms) => [window + ms] },

  check(log: LogState = emptyLog(), input: AlgorithmInput, now: number) {
    const { cost, limit, params } = input
    const [window = 0] = params
    const cutoff = now - window
    const { members } = log
    const { index, used } = skipExpired(log, cutoff)
    const first = members[index]
    return windowFinding(
      input,
      used,
      first ? first.at - cutoff : window,
      () => freedAt(members, index, used, used + cost - limit) - cutoff,
    )
  },

  add(log: LogState = emptyLog(), { cost, params }: AlgorithmInput, now: number, id: string) {
    const [window = 0] = params
    prune(log, now, window)
    insert(log, { id, at: now, cost })
    return { ...withExpiry(log, now, window), position: now }
  },

  // First, expired members are subtracted, and the member is found whose expiry makes room. If each has one unit, it is
  // the same counted from both ends. If not, the one from the start is behind the one from the end, so the range is empty.
  // Only when expired members are removed is the expiry of the key moved: to three windows on, which is
  // always at least a window after the newest member.
  lua: ([window = 0]) => ({
    keeps: ['total', 'prune', 'expire'],
    check: `local cutoff, rows = now - ${window}, redis.call('ZRANGE', key, 0, ${PRUNE_AT}, 'WITHSCORES')
local total, oldest = 0, tonumber(rows[4])
if rows[1] then
  total = -rows[2]
  if ${NO_TOTAL} then ${FOREIGN} end
end
local used, expired, freed, first, freed_at = total, 0, 0
local row, rank, full = 3, ${PRUNE_AT + 1}, ${2 * (PRUNE_AT + 1)}
while true do
  local at = tonumber(rows[row + 1])
  if at then
    local units = string.match(rows[row], '${MEMBER}')
    if not units then ${FOREIGN} end
    units = tonumber(units) or 1
    if at <= cutoff then
      used, expired = used - units, expired + 1
    else
      first = first or at
      if cost == 0 or used + cost <= limit or cost > limit then break end
      freed = freed + units
      if freed >= used + cost - limit then
        freed_at = at
        break
      end
    end
    row = row + 2
  elseif #rows < full then
    break
  else
    freed_at = first and total - used + freed < rank and
      redis.call('ZRANGE', key, total + cost - limit, cost - limit - 1, 'WITHSCORES')[2]
    if freed_at then break end
    rows = redis.call('ZRANGE', key, rank, rank + ${CHUNK - 1}, 'WITHSCORES')
    row, rank, full = 1, rank + ${CHUNK}, ${2 * CHUNK}
  end
end${fitWindow('(first or now) - cutoff', '(freed_at or now) - cutoff')}
$prune = expired >= ${PRUNE_AT} or oldest and oldest <= now - ${2 * window}
$total, $expire = $prune and used or total, $prune or not oldest or skewed`,
    // A call that is repeated on its way adds no member: it must not count twice.
    add: `if $prune then redis.call('ZREMRANGEBYSCORE', key, 0, now - ${window}) end
if redis.call('ZADD', key, -($total + cost), '#', now, ${memberOf('cost')}) == 0 then
  redis.call('ZADD', key, -$total, '#')
end
if $expire then redis.call('PEXPIRE', key, ${3 * window} + slack) end`,
    position: 'now',
  }),
}

/** Corrects the charges of sliding windows. */
export const slidingLogSettlement: SettlementTwins<LogState> = {
  settle(log: LogState = emptyLog(), settlement: Settlement, now: number) {
    const { id, position, reserved, actual, params } = settlement
    const [window = 0] = params
    const applied = actual - reserved
    const index = log.members.findLastIndex((one) => one.id === id && one.cost === reserved)
    const exists = index >= log.head
    const expired = position <= now - window
    if (!exists && applied <= 0) return undefined
    if (exists) {
      log.members.splice(index, 1)
      log.total -= reserved
    }
    // If the charge no longer counts, units beyond it are charged now.
    const fresh = !exists || (applied > 0 && expired)
    const units = fresh ? applied : actual
    if (units > 0) insert(log, { id, at: fresh ? now : position, cost: units })
    return { ...withExpiry(log, now, window), applied: expired ? Math.max(0, applied) : applied }
  },

  // The expiry is moved here too when the charge is removed: it may have been the oldest member, whose age
  // would have moved it.
  lua: ([window = 0]) => `local member = ${memberOf('reserved')}
local total, exists = unpack(redis.call('ZMSCORE', key, '#', member))
local units, at, expired = actual, position, position <= now - ${window}
total, applied = total and -total or 0, actual - reserved
local fresh = not exists or applied > 0 and expired
if fresh then units, at = applied, now end
if not exists and applied > 0 then
  local rows = redis.call('ZRANGE', key, 0, 1, 'WITHSCORES')
  if rows[1] and (${NO_TOTAL} or not string.find(rows[3] or '', '${MEMBER}')) then ${FOREIGN} end
end
if exists or applied > 0 then
  if exists then
    redis.call('ZREM', key, member)
    total = total - reserved
  end
  if units > 0 then
    redis.call('ZADD', key, -(total + units), '#', at, ${memberOf('units')})
  elseif total > 0 then
    redis.call('ZADD', key, -total, '#')
  else
    redis.call('DEL', key)
  end
  if units == 0 or fresh then redis.call('PEXPIRE', key, ${3 * window} + slack) end
end
if applied < 0 and (expired or not exists) then applied = 0 end`,
}

const emptyLog = (): LogState => ({ members: [], head: 0, total: 0 })

/** Returns the index of the first member after `cutoff`, and the units from there on. */
function skipExpired({ members, head, total }: LogState, cutoff: number) {
  let [index, used] = [head, total]
  for (;;) {
    const member = members[index]
    if (member === undefined || member.at > cutoff) return { index, used }
    used -= member.cost
    index += 1
  }
}

/**
 * Removes expired members whenever the Lua twin does, so that both find the same ones if the clock steps back.
 * The array is cut only when half of it is removed, so each member is moved at most once.
 */
function prune(log: LogState, now: number, window: number): void {
  const { members, head } = log
  const { index, used } = skipExpired(log, now - window)
  const oldest = members[head]?.at ?? now
  if (index - head >= PRUNE_AT || oldest <= now - 2 * window) {
    log.head = index
    log.total = used
  }
  if (log.head * 2 > members.length) {
    members.splice(0, log.head)
    log.head = 0
  }
}

/** Adds a member in the order of time. It is not always the newest: a clock may have stepped back. */
function insert(log: LogState, member: Member): void {
  const { members, head } = log
  let index = members.length
  while (index > head && (members[index - 1] as Member).at > member.at) index -= 1
  members.splice(index, 0, member)
  log.total += member.cost
}

/** Returns the state. It expires when the Lua twin would have removed every member. */
function withExpiry(state: LogState, now: number, window: number) {
  return { state, expiresAt: (state.members.at(-1)?.at ?? now) + 2 * window }
}

/** Returns the time (epoch ms) of the member whose expiry frees the last of `excess` units. `used` count from `index` on. */
function freedAt(members: readonly Member[], index: number, used: number, excess: number): number {
  // If each has one unit, those before it need not be added up.
  let freed = used === members.length - index ? excess - 1 : 0
  let next = index + freed
  for (;;) {
    const { at, cost } = members[next] as Member
    freed += cost
    if (freed >= excess) return at
    next += 1
  }
}
