import type {
  Algorithm,
  AlgorithmInput,
  Finding,
  Settlement,
  SettlementTwins,
} from './algorithm.ts'
import { FOREIGN } from './algorithm.ts'

/** The retry time of a denied request, in milliseconds: a slot may come free at any moment. */
const RETRY_MS = 1_000

/** The slots in use, and the time at which each comes free by itself. The earliest first. */
type SlotsState = readonly { readonly id: string; readonly until: number }[]

/** Counts calls in flight. Its param: the longest time that a call holds its slot, in milliseconds. */
export const slotsAlgorithm: Algorithm<SlotsState> = {
  id: 'slots',
  traits: { held: true },
  check(
    state: SlotsState | undefined,
    { limit, cost, params }: AlgorithmInput,
    now: number,
  ): Finding {
    const held = heldAt(state, now)
    const fits = cost === 0 || held.length + cost <= limit
    const first = held[0]
    const resetMs = first ? Math.min(first.until - now, RETRY_MS) : (params[0] ?? 0)
    return {
      fits,
      available: Math.max(0, limit - held.length),
      resetMs,
      retryMs: fits ? 0 : cost > limit ? -1 : Math.min(resetMs, RETRY_MS),
    }
  },

  add(state: SlotsState | undefined, { cost, params }: AlgorithmInput, now: number, id: string) {
    const until = now + (params[0] ?? 0)
    const added = Array.from({ length: cost }, () => ({ id, until }))
    const slots = [...heldAt(state, now), ...added].toSorted((a, b) => a.until - b.until)
    return { state: slots, expiresAt: slots.at(-1)?.until ?? until, position: until }
  },

  // One read shows the slots in use, those that have come free by themselves, and whether to move the key's
  // expiry. It is moved once in a quarter of the time that a call may hold a slot.
  lua: ([maxDuration = 0]) => ({
    keeps: ['free', 'expire'],
    check: `local rows = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
local held, free, first, last = 0, 0, nil, nil
for at = 1, #rows, 2 do
  if not string.find(rows[at], '^call:%w+:?%d*$') then ${FOREIGN} end
  last = tonumber(rows[at + 1])
  if last > now then
    held, first = held + 1, first or last
  else
    free = free + 1
  end
end
fits = cost == 0 or held + cost <= limit
available, reset = limit - held, first and math.min(first - now, ${RETRY_MS}) or ${maxDuration}
if not fits then retry = cost > limit and -1 or math.min(reset, ${RETRY_MS}) end
local quarter = ${Math.ceil(maxDuration / 4)}
$free = free
$expire = skewed or not last or math.floor(last / quarter) ~= math.floor((now + ${maxDuration}) / quarter)`,
    add: `local slots, ends = {}, now + ${maxDuration}
if $free > 0 then redis.call('ZREMRANGEBYSCORE', key, '-inf', now) end
for slot = 1, cost do
  slots[2 * slot - 1] = ends
  slots[2 * slot] = slot == 1 and 'call:' .. id or 'call:' .. id .. ':' .. slot
end
redis.call('ZADD', key, unpack(slots))
if $expire then redis.call('PEXPIRE', key, ${2 * maxDuration} + slack) end`,
    position: `now + ${maxDuration}`,
  }),
}

/** Ends calls in flight. */
export const slotsSettlement: SettlementTwins<SlotsState> = {
  settle(state: SlotsState = [], { id, position }: Settlement, now: number) {
    const others = state.filter((slot) => slot.id !== id)
    const removed = state.length - others.length
    if (removed === 0) return undefined
    const applied = position <= now ? 0 : -removed
    return { state: others, expiresAt: others.at(-1)?.until ?? now, applied }
  },

  lua: () => `local slots = {}
for slot = 1, reserved do slots[slot] = slot == 1 and 'call:' .. id or 'call:' .. id .. ':' .. slot end
applied = -redis.call('ZREM', key, unpack(slots))
if position <= now then applied = 0 end`,
}

/** Returns the slots that are still held at `now`. */
function heldAt(state: SlotsState = [], now: number): SlotsState {
  return state.filter(({ until }) => until > now)
}
