import type { Algorithm, AlgorithmInput, Settlement } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

/** The charges of one session. */
interface SessionState {
  /** The time of its first charge, in epoch ms. Names the session: the next one begins later. */
  readonly start: number
  /** The time at which it is over if nothing else is charged, in epoch ms. */
  readonly end: number
  readonly used: number
}

/**
 * Counts from a first charge until nothing has been charged for an idle time. Its param: the idle time in
 * milliseconds. Settling is part of it, because most sessions are budgets that are settled.
 */
export const sessionWindowAlgorithm: Algorithm<SessionState> = {
  id: 'session',
  traits: { guessesRetry: true },

  check(state: SessionState | undefined, input: AlgorithmInput, now: number) {
    const { used, end } = current(state, now, input.params)
    const finding = windowFinding(input, used, end - now, () => end - now)
    // A charge moves the end.
    if (!finding.fits || input.cost === 0) return finding
    return { ...finding, resetMs: prolonged(end, now, input.params) - now }
  },

  add(state: SessionState | undefined, { cost, params }: AlgorithmInput, now: number) {
    const { start, end, used } = current(state, now, params)
    return { ...stored(start, prolonged(end, now, params), used + cost), position: start }
  },

  // The value is `s<start>:<end>:<used>`. It names its end because a key's expiry follows the server's
  // clock alone. The end never moves back, and a clock that steps back, even before the start, still finds
  // the session: only the end of a budget begins another.
  lua([idle = 1]) {
    return {
      keeps: ['start', 'finish', 'used'],
      check: `${luaRead(idle)}${fitWindow('finish - now', 'reset')}
$start, $finish, $used = start, math.max(finish, now + ${idle}), used
if fits and cost > 0 then reset = $finish - now end`,
      add: luaWrite('$start', '$finish', '$used + cost'),
      position: '$start',
    }
  },

  settlement: {
    settle(state: SessionState | undefined, settlement: Settlement, now: number) {
      const { position, reserved, actual, params } = settlement
      if (actual > reserved) {
        const { start, end, used } = current(state, now, params)
        const applied = actual - reserved
        return { ...stored(start, prolonged(end, now, params), used + applied), applied }
      }
      if (state?.start !== position) return undefined
      const { start, end, used } = state
      // The count may have been reset since.
      const corrected = Math.max(0, used + actual - reserved)
      return { ...stored(start, end, corrected), applied: end <= now ? 0 : corrected - used }
    },

    // The charged session may be over, and the key may count another one.
    lua: ([idle = 1]) => `if actual > reserved then ${luaRead(idle)}
  applied = actual - reserved
  finish = math.max(finish, now + ${idle})
  ${luaWrite('start', 'finish', 'used + applied')}
else
  local stored = redis.call('GET', key)
  if stored then
    ${LUA_MATCH}
    if tonumber(began) == position then
      applied = math.max(-count, actual - reserved)
      redis.call('SET', key, string.format('s%s:%s:%.0f', began, ending, count + applied), 'KEEPTTL')
      if tonumber(ending) <= now then applied = 0 end
    end
  end
end`,
  },
}

/** Lua that splits `stored`. */
const LUA_MATCH = `local began, ending, count = string.match(stored, '^s(%d+):(%d+):(%d+)$')
  if not began then ${FOREIGN} end`

/** Lua that finds the current session and its units. */
const luaRead = (idle: number): string => `
local start, finish, used, stored = now, now + ${idle}, 0, redis.call('GET', key)
if stored then
  ${LUA_MATCH}
  ending = tonumber(ending)
  if ending > now then start, finish, used = tonumber(began), ending, tonumber(count) end
end`

const luaWrite = (start: string, end: string, used: string): string =>
  `redis.call('SET', key, string.format('s%.0f:%.0f:%.0f', ${start}, ${end}, ${used}),
  own and 'PXAT' or 'PX', own and ${end} or ${end} - now + slack)`

/** Returns the session that `now` is in, or an empty one that begins now. */
function current(
  state: SessionState | undefined,
  now: number,
  [idleMs = 1]: readonly number[],
): SessionState {
  return state !== undefined && state.end > now ? state : { start: now, end: now + idleMs, used: 0 }
}

/** Returns the end of a session that is charged now. */
const prolonged = (end: number, now: number, [idleMs = 1]: readonly number[]): number =>
  Math.max(end, now + idleMs)

/** Returns the state. It expires with the session. */
const stored = (start: number, end: number, used: number) => ({
  state: { start, end, used },
  expiresAt: end,
})
