import type { Algorithm, AlgorithmInput, Settlement, SettlementTwins } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'

const DAY_MS = 86_400_000

/** The window of a calendar month, which has no fixed number of milliseconds. */
export const CALENDAR_MONTH = 0

export interface FixedWindowState {
  readonly used: number
  /** The end of the window, in epoch ms. */
  readonly end: number
}

/** Counts in each window of a grid that begins at the Unix epoch, or in each calendar month (UTC). */
export const fixedWindowAlgorithm: Algorithm<FixedWindowState> = {
  id: 'fixed',
  traits: { windowEnd: (params, now) => current(params, now).end, lengthen: (params) => params },

  check(state: FixedWindowState | undefined, input: AlgorithmInput, now: number) {
    const { used, end } = current(input.params, now, state)
    return windowFinding(input, used, end - now, () => end - now)
  },

  add(state: FixedWindowState | undefined, { cost, params }: AlgorithmInput, now: number) {
    const { used, end } = current(params, now, state)
    return { state: { used: used + cost, end }, expiresAt: end, position: end }
  },

  // The value is `w<end>:<used>`. It names its window because a key's expiry follows the server's clock
  // alone, and a window that has not ended is kept, whenever it ends: a clock that steps back over
  // the border must not open a second budget. SET writes count and expiry in one command. By Redis'
  // own clock the expiry is a moment, because a length would be added to a time read later or earlier.
  lua([window = DAY_MS]) {
    const { read, write } = luaPieces(window)
    return {
      keeps: ['finish', 'used'],
      check: `${read}${fitWindow('finish - now', 'reset')}
$finish, $used = finish, used`,
      add: write('$finish', '$used + cost'),
      position: '$finish',
    }
  },
}

/** Corrects the charges of fixed windows. */
export const fixedWindowSettlement: SettlementTwins<FixedWindowState> = {
  settle(state: FixedWindowState | undefined, settlement: Settlement, now: number) {
    const { position, reserved, actual, params } = settlement
    const isMore = actual > reserved
    if (!isMore && (state?.end !== position || position <= now)) return undefined
    const { used, end } = isMore ? current(params, now, state) : (state as FixedWindowState)
    // The count may have been reset since.
    const corrected = Math.max(0, used + actual - reserved)
    return { state: { used: corrected, end }, expiresAt: end, applied: corrected - used }
  },

  // The charged window may be over, and the key may count another one.
  lua([window = DAY_MS]) {
    const { read, write } = luaPieces(window)
    return `if actual > reserved then ${read}
  applied = actual - reserved
  ${write('finish', 'used + applied')}
else
  ${giveBackLua()}
end`
  },
}

/** Lua that gives back units of the window in which they were charged. */
export const giveBackLua = (): string => `local stored = redis.call('GET', key)
  if stored then
    local ending, count = string.match(stored, '^w(%d+):(%d+)$')
    if not ending then ${FOREIGN} end
    if tonumber(ending) == position then
      applied = math.max(-count, actual - reserved)
      redis.call('SET', key, string.format('w%.0f:%.0f', position, count + applied), 'KEEPTTL')
      if position <= now then applied = 0 end
    end
  end`

/**
 * Lua for both scripts. `read` finds the current window and its units. A stored one that has not ended counts: a clock may
 * have stepped back, or the policy had a calendar.
 */
function luaPieces(window: number) {
  const read = `
${window === CALENDAR_MONTH ? MONTH_END : `local finish = now - now % ${window} + ${window}`}
local used, stored = 0, redis.call('GET', key)
if stored then
  local ending, count = string.match(stored, '^w(%d+):(%d+)$')
  if not ending then ${FOREIGN} end
  ending = tonumber(ending)
  if ending > now then finish, used = ending, tonumber(count) end
end`
  return { read, write: writeWindowLua }
}

/** Lua that writes a window and its units. They are kept until `expiry`. */
export const writeWindowLua = (end: string, count: string, expiry: string = end): string =>
  `redis.call('SET', key, string.format('w%.0f:%.0f', ${end}, ${count}),
  own and 'PXAT' or 'PX', own and ${expiry} or ${expiry} - now + slack)`

// The next month's first day, by the civil calendar in which a year begins in March, so that the leap
// day is the last of a year (Hinnant, chrono-compatible low-level date algorithms).
const MONTH_END = `local days = math.floor(now / ${DAY_MS})
local of_era = (days + 719468) % 146097
local year = math.floor((of_era - math.floor(of_era / 1460) + math.floor(of_era / 36524) - math.floor(of_era / 146096)) / 365)
local of_year = of_era - (365 * year + math.floor(year / 4) - math.floor(year / 100))
local month = math.floor((5 * of_year + 2) / 153)
local length = math.floor((153 * (month + 1) + 2) / 5)
if month == 11 then
  local leap = year + 1
  length = (leap % 4 == 0 and leap % 100 ~= 0 or leap % 400 == 0) and 366 or 365
end
local finish = (days - of_year + length) * ${DAY_MS}`

function current(
  [window = DAY_MS]: readonly number[],
  now: number,
  state?: FixedWindowState,
): FixedWindowState {
  if (state && state.end > now) return state
  const end = window === CALENDAR_MONTH ? monthEnd(new Date(now)) : now - (now % window) + window
  return { used: 0, end }
}

const monthEnd = (date: Date): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
