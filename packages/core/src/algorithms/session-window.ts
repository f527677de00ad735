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

/** The length of a session that has none, in milliseconds. */
const ENDLESS = 2 ** 53

/**
 * Counts from a first charge until nothing has been charged for an idle time, or until a length of time is over. Its
 * params: the idle time, 0 for none, and the length if there is one, in milliseconds. Settling is part of it, because
 * most sessions are budgets that are settled.
 */
export const sessionWindowAlgorithm: Algorithm<SessionState> = {
  id: 'session',
  traits: { endsTogether: true, guessesRetry: true },

  check(state: SessionState | undefined, input: AlgorithmInput, now: number) {
    const session = current(state, now, input.params)
    const left = session.end - now
    const finding = windowFinding(input, session.used, left, () => left)
    // A charge moves the end.
    if (!finding.fits || input.cost === 0) return finding
    return { ...finding, resetMs: charged(session, 0, now, input.params).end - now }
  },

  add(state: SessionState | undefined, { cost, params }: AlgorithmInput, now: number) {
    const session = charged(current(state, now, params), cost, now, params)
    return { ...stored(session), position: session.start }
  },

  // The value is `s<start>:<end>:<used>`. It names its end because a key's expiry follows the server's
  // clock alone. The end never moves back, and a clock that steps back, even before the start, still finds
  // the session: only the end of a budget begins another.
  lua(params) {
    return {
      keeps: ['start', 'finish', 'used'],
      check: `${luaRead(params)}${fitWindow('finish - now', 'reset')}
$start, $finish, $used = start, ${luaProlonged(params)}, used
if fits and cost > 0 then reset = $finish - now end`,
      add: luaWrite('$start', '$finish', '$used + cost'),
      position: '$start',
    }
  },

  settlement: {
    settle(state: SessionState | undefined, settlement: Settlement, now: number) {
      const { position, reserved, actual, params } = settlement
      if (actual > reserved) {
        const applied = actual - reserved
        return { ...stored(charged(current(state, now, params), applied, now, params)), applied }
      }
      if (state?.start !== position) return undefined
      // The count may have been reset since.
      const used = Math.max(0, state.used + actual - reserved)
      return { ...stored({ ...state, used }), applied: state.end <= now ? 0 : used - state.used }
    },

    // The charged session may be over, and the key may count another one.
    lua: (params) => `if actual > reserved then ${luaRead(params)}
  applied = actual - reserved
  finish = ${luaProlonged(params)}
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

/** The same for a session that has a length alone: nothing moves its end. */
export const sessionLengthAlgorithm: Algorithm<SessionState> = /* @__PURE__ */ Object.assign(
  {},
  sessionWindowAlgorithm,
  { traits: { endsTogether: true } },
)

/** Lua that splits `stored`. */
const LUA_MATCH = `local began, ending, count = string.match(stored, '^s(%d+):(%d+):(%d+)$')
  if not began then ${FOREIGN} end`

/** Lua that finds the current session and its units. */
const luaRead = (params: readonly number[]): string => `
local start, finish, used, stored = now, now + ${firstLength(params)}, 0, redis.call('GET', key)
if stored then
  ${LUA_MATCH}
  ending = tonumber(ending)
  if ending > now then start, finish, used = tonumber(began), ending, tonumber(count) end
end`

/** A Lua expression: the end of a session that is charged now. */
const luaProlonged = ([idle = 0, length = ENDLESS]: readonly number[]): string =>
  `math.min(start + ${length}, math.max(finish, now + ${idle}))`

const luaWrite = (start: string, end: string, used: string): string =>
  `redis.call('SET', key, string.format('s%.0f:%.0f:%.0f', ${start}, ${end}, ${used}),
  own and 'PXAT' or 'PX', own and ${end} or ${end} - now + slack)`

/** Returns the time after which a session is over if it is charged once only, in milliseconds. */
const firstLength = ([idle = 0, length = ENDLESS]: readonly number[]): number =>
  Math.min(idle || length, length)

/** Returns the session that `now` is in, or an empty one that begins now. */
function current(
  state: SessionState | undefined,
  now: number,
  params: readonly number[],
): SessionState {
  if (state !== undefined && state.end > now) return state
  return { start: now, end: now + firstLength(params), used: 0 }
}

/** Returns a session that is charged now. */
function charged(
  { start, end, used }: SessionState,
  units: number,
  now: number,
  [idle = 0, length = ENDLESS]: readonly number[],
): SessionState {
  return { start, end: Math.min(start + length, Math.max(end, now + idle)), used: used + units }
}

/** Returns the state. It expires with the session. */
const stored = (state: SessionState) => ({ state, expiresAt: state.end })
