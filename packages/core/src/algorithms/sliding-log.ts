import type { Algorithm, AlgorithmInput, Settlement, SettlementTwins } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

/** Expired members left in the set before they are removed, in one command. */
const PRUNE_AT = 16

/** Members read at once when those at hand do not decide. */
const CHUNK = 512

/** Lua that is true of a set that does not begin with the sum of its units, `total`. */
const NO_SUM = `rows[1] ~= '#' or total < 1 or total % 1 ~= 0`

/** The pattern of a request's member: its id, and its units unless they are 1. */
const MEMBER = '^%w+:?(%d*)$'

interface LogEntry {
  readonly at: number
  readonly cost: number
}

/** Allowed requests, oldest first. Those before `head` are removed, as they are in Redis. */
interface LogState {
  log: LogEntry[]
  head: number
  /** Units in `log` from `head` on. */
  total: number
}

/** Counts in any stretch as long as one window: exact, from one entry per allowed request. */
export const slidingLogAlgorithm: Algorithm<LogState> = {
  id: 'sliding',

  check(state: LogState | undefined, input: AlgorithmInput, now: number) {
    const { cost, limit, params } = input
    const window = params[0] ?? 0
    if (state === undefined) return windowFinding(input, 0, window, () => window)
    const { first, used } = live(state, now - window)
    const oldest = state.log[first]
    const resetMs = oldest === undefined ? window : oldest.at + window - now
    return windowFinding(
      input,
      used,
      resetMs,
      () => freedAt(state.log, first, used + cost - limit) + window - now,
    )
  },

  // Expired entries are removed when the Lua twin removes them: a clock that steps back finds the
  // same ones in both. The state is changed in place, as nobody else holds it.
  add(state: LogState | undefined, { cost, params }: AlgorithmInput, now: number) {
    const window = params[0] ?? 0
    const kept = state ?? { log: [], head: 0, total: 0 }
    const { log, head } = kept
    const { first, used } = live(kept, now - window)
    if (first - head >= PRUNE_AT || (log[head]?.at ?? now) <= now - 2 * window) {
      kept.head = first
      kept.total = used
    }
    // Cut only when half of it is removed, so that each entry is moved at most once.
    if (kept.head * 2 > log.length) {
      log.splice(0, kept.head)
      kept.head = 0
    }
    insert(kept, { at: now, cost })
    return { ...expiring(kept, now, window), position: now }
  },

  // Beside the requests, the set holds one member `#` whose score is minus the units in the set. It
  // sorts before all others, so one short ZRANGE reads the sum and the oldest members, and one ZADD
  // writes the sum and the new one. Expired members are subtracted while reading and removed when
  // there are PRUNE_AT of them or the oldest is two windows old; only then is the expiry of the key
  // moved, to three windows on, which is always at least a window after the newest member.
  lua: ([window = 0]) => ({
    keeps: ['total', 'prune', 'expire'],
    check: `local cutoff, rows = now - ${window}, redis.call('ZRANGE', key, 0, ${PRUNE_AT}, 'WITHSCORES')
-- The first member, #, holds minus the units in the set.
local total, oldest = 0, tonumber(rows[4])
if rows[1] then
  total = -rows[2]
  if ${NO_SUM} then ${FOREIGN} end
end
local used, expired, freed, head, later = total, 0, 0, nil, nil
-- Subtracts expired members; if the cost does not fit, finds the one whose expiry makes room.
local at, rank, full = 3, ${PRUNE_AT + 1}, ${2 * (PRUNE_AT + 1)}
while true do
  local score = tonumber(rows[at + 1])
  if score then
    local units = string.match(rows[at], '${MEMBER}')
    if not units then ${FOREIGN} end
    units = tonumber(units) or 1
    if score <= cutoff then
      used, expired = used - units, expired + 1
    else
      head = head or score
      if cost == 0 or used + cost <= limit or cost > limit then break end
      freed = freed + units
      if freed >= used + cost - limit then
        later = score - cutoff
        break
      end
    end
    at = at + 2
  elseif #rows < full then
    break
  else
    rows = redis.call('ZRANGE', key, rank, rank + ${CHUNK - 1}, 'WITHSCORES')
    at, rank, full = 1, rank + ${CHUNK}, ${2 * CHUNK}
  end
end${fitWindow(`head and head - cutoff or ${window}`, `later or ${window}`)}
$prune = expired >= ${PRUNE_AT} or oldest and oldest <= now - ${2 * window}
$total, $expire = $prune and used or total, $prune or not oldest or skewed`,
    add: `if $prune then redis.call('ZREMRANGEBYSCORE', key, 0, now - ${window}) end
redis.call('ZADD', key, -($total + cost), '#', now, cost == 1 and id or id .. ':' .. cost)
if $expire then redis.call('PEXPIRE', key, ${3 * window} + slack) end`,
    position: 'now',
  }),
}

/** Corrects the charges of sliding windows. */
export const slidingLogSettlement: SettlementTwins<LogState> = {
  settle(state: LogState | undefined, settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const window = params[0] ?? 0
    const kept = state ?? { log: [], head: 0, total: 0 }
    const applied = actual - reserved
    // Of several alike, any will do.
    const index = kept.log.findLastIndex(({ at, cost }) => at === position && cost === reserved)
    const isThere = index >= kept.head
    const isOver = position <= now - window
    if (!isThere && applied <= 0) return undefined
    if (isThere) {
      kept.log.splice(index, 1)
      kept.total -= reserved
    }
    const isNew = !isThere || (applied > 0 && isOver)
    const cost = isNew ? applied : actual
    if (cost > 0) insert(kept, { at: isNew ? now : position, cost })
    return { ...expiring(kept, now, window), applied: isOver ? Math.max(0, applied) : applied }
  },

  // Without the member that was the oldest, no removal falls due by its age, which would have moved
  // the expiry.
  lua: ([window = 0]) => `local member = reserved == 1 and id or id .. ':' .. reserved
local scores = redis.call('ZMSCORE', key, '#', member)
local total, units, at, over = scores[1] and -scores[1] or 0, actual, position, position <= now - ${window}
applied = actual - reserved
local fresh = not scores[2] or applied > 0 and over
if fresh then units, at = applied, now end
if not scores[2] and applied > 0 then
  local rows = redis.call('ZRANGE', key, 0, 1, 'WITHSCORES')
  if rows[1] and (${NO_SUM} or not string.find(rows[3] or 'x', '${MEMBER}')) then ${FOREIGN} end
end
if scores[2] or applied > 0 then
  if scores[2] then
    redis.call('ZREM', key, member)
    total = total - reserved
  end
  if units > 0 then
    redis.call('ZADD', key, -(total + units), '#', at, units == 1 and id or id .. ':' .. units)
  elseif total > 0 then
    redis.call('ZADD', key, -total, '#')
  else
    redis.call('DEL', key)
  end
  if units == 0 or fresh then redis.call('PEXPIRE', key, ${3 * window} + slack) end
end
if applied < 0 and (over or not scores[2]) then applied = 0 end`,
}

/** The first entry after `cutoff`, and the units from there on. */
function live(
  { log, head, total }: LogState,
  cutoff: number,
): { readonly first: number; readonly used: number } {
  let [first, used] = [head, total]
  for (;;) {
    const entry = log[first]
    if (entry === undefined || entry.at > cutoff) return { first, used }
    used -= entry.cost
    first += 1
  }
}

/** Adds an entry in the order of time, which may have stepped back. */
function insert(state: LogState, entry: LogEntry): void {
  const { log, head } = state
  let place = log.length
  while (place > head && (log[place - 1]?.at ?? 0) > entry.at) place -= 1
  if (place === log.length) log.push(entry)
  else log.splice(place, 0, entry)
  state.total += entry.cost
}

/** By then the Lua twin would remove every member. */
function expiring(state: LogState, now: number, window: number) {
  return { state, expiresAt: (state.log.at(-1)?.at ?? now) + 2 * window }
}

/** The time (epoch ms) of the entry whose expiry frees the last of `need` units. */
function freedAt(log: readonly LogEntry[], first: number, need: number): number {
  let freed = 0
  for (let index = first; index < log.length; index += 1) {
    const entry = log[index] as LogEntry
    freed += entry.cost
    if (freed >= need) return entry.at
  }
  return log.at(-1)?.at ?? 0
}
