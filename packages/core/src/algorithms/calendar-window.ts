import type { Algorithm, AlgorithmInput, Settlement } from './algorithm.ts'
import { fitWindow, FOREIGN, windowFinding } from './algorithm.ts'
import { giveBackLua, writeWindowLua, type FixedWindowState } from './fixed-window.ts'

/** The numbers of an entry beside its limit and cost: the periods about now, as the caller has computed them. */
export interface CalendarNumbers {
  /** The start of the period that the caller is in, in epoch ms. */
  readonly since: number
  /** Its end. */
  readonly finish: number
  /** The end of the next period. */
  readonly following: number
  /**
   * The time for which a key lives on after its period, in milliseconds, so that a change does not begin a second budget: a
   * period where the calendar of a partition may change, else a tenth, by which tables of time zones may differ.
   */
  readonly outlive: number
}

/** The periods about now, and the params of the policy. */
type CalendarPeriods = Omit<CalendarNumbers, 'outlive'> & Pick<AlgorithmInput, 'params'>

type CalendarInput = AlgorithmInput & CalendarNumbers
type CalendarSettlement = Settlement & CalendarNumbers

/** The names of an entry's numbers, in the order of the arguments. */
export const CALENDAR_NUMBERS = ['since', 'finish', 'following', 'outlive'] as const

/** The length by which the ends of months are checked: February is longer than nine tenths of it, and no month than eleven. */
const MONTH_MS = 30 * 86_400_000

/** Returns the length by which the ends of periods are checked, in milliseconds. */
export const periodLength = ([window = 0]: readonly number[]): number => window || MONTH_MS

/**
 * Counts in periods whose ends the caller knows. A period that runs keeps its end. The first charge after it begins the
 * next: the first of the caller's ends that is to come by the store's clock ends it. If none is, or it is further away than
 * a period, the verdict has `resetMs: 0`, and nothing is charged. Its param: the period in milliseconds, or 0 for a month.
 */
export const calendarWindowAlgorithm: Algorithm<FixedWindowState> = {
  id: 'calendar',
  // A policy that gets a calendar goes on with the count of its window.
  keyId: 'fixed',
  traits: {
    windowEnd: (_, now, entry: object = {}) => {
      const { since = 0, finish = 0, following = 0 } = entry as Partial<CalendarNumbers>
      return [since, finish, following].find((end) => end > now) ?? now
    },
    lengthen: (params) => params,
  },

  check(state: FixedWindowState | undefined, input: CalendarInput, now: number) {
    const period = current(state, input, now)
    if (!period) {
      return { fits: input.cost === 0, available: 0, resetMs: 0, retryMs: 0 }
    }
    const left = period.end - now
    return windowFinding(input, period.used, left, () => left)
  },

  add(state: FixedWindowState | undefined, input: CalendarInput, now: number) {
    const { used, end } = current(state, input, now) ?? { used: 0, end: now }
    return { ...stored(used + input.cost, end, input), position: end }
  },

  lua: (params) => ({
    keeps: ['finish', 'used', 'expiry'],
    check: `${readLua(params)}
$finish, $used = ending, used
if ending then
  $expiry = ending + outlive${fitWindow('ending - now', 'reset')}
else
  fits = cost == 0
end`,
    add: `if $finish then ${writeWindowLua('$finish', '$used + cost', '$expiry')} end`,
    position: '$finish or 0',
  }),

  settlement: {
    settle(state: FixedWindowState | undefined, settlement: CalendarSettlement, now: number) {
      const { position, reserved, actual } = settlement
      const isMore = actual > reserved
      if (!isMore && (state?.end !== position || position <= now)) return undefined
      const period = isMore ? current(state, settlement, now) : state
      if (!period) return undefined
      // The count may have been reset since.
      const corrected = Math.max(0, period.used + actual - reserved)
      return { ...stored(corrected, period.end, settlement), applied: corrected - period.used }
    },

    lua: (params) => `if actual > reserved then ${readLua(params)}
  if ending then
    applied = actual - reserved
    ${writeWindowLua('ending', 'used + applied', 'ending + outlive')}
  end
else
  ${giveBackLua()}
end`,
  },
}

/** Returns the period that is charged now, or `undefined` if its end is not known. */
function current(
  state: FixedWindowState | undefined,
  input: CalendarPeriods,
  now: number,
): FixedWindowState | undefined {
  if (state && state.end > now) return state
  const end = nextEnd(state?.end, input, now)
  return end === undefined ? undefined : { used: 0, end }
}

/** Returns the end of the period to begin now, after the one that ended at `last`; `undefined` if it is not known. */
export function nextEnd(
  last: number | undefined,
  { since, finish, following, params }: CalendarPeriods,
  now: number,
): number | undefined {
  const length = periodLength(params)
  const ends = [since, finish, following]
  const at = ends.findIndex((end) => end > now)
  const end = ends[at]
  // A caller whose clock is days ahead has no end of the period that runs.
  const farthest = at === 0 ? length / 2 : 1.1 * length
  if (end === undefined || end - now > farthest) return undefined
  // A calendar that changes at the end of a period begins no short one.
  const isShort = last !== undefined && end - last < 0.9 * length
  return isShort ? ends[at + 1] : end
}

const stored = (used: number, end: number, { outlive = 0 }: Partial<CalendarNumbers>) => ({
  state: { used, end },
  expiresAt: end + outlive,
})

/** Lua that finds the `ending` of the period that is charged now, nil if it is not known, and its units. */
const readLua = (params: readonly number[]): string => `
local ending, used, last, stored = nil, 0, nil, redis.call('GET', key)
if stored then
  local before, count = string.match(stored, '^w(%d+):(%d+)$')
  if not before then ${FOREIGN} end
  last = tonumber(before)
  if last > now then ending, used = last, tonumber(count) end
end
if not ending then
  ${nextEndLua(params)}
end`

/** Lua that sets `ending` as `nextEnd` returns it. */
export const nextEndLua = (
  params: readonly number[],
): string => `local ends, at = { since, finish, following }, 1
  while at < 3 and ends[at] <= now do at = at + 1 end
  local length = ${periodLength(params)}
  if ends[at] > now and ends[at] - now <= length * (at == 1 and 0.5 or 1.1) then
    if last and ends[at] - last < length * 0.9 then at = at + 1 end
    ending = ends[at]
  end`
