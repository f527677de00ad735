/* The pieces that a day (UTC) is counted in, where it lies in more than one period of a calendar. */
import { PERIOD_MS, QUARTER_MS, QUARTERS } from '../../hours.ts'
import type { LocalPeriod, StoredPeriod } from '../../rows.ts'
import type { PeriodRows } from '../parse-cells.ts'
import { RowSums } from './period-sums.ts'

/** A stored hour or day, or a part of an hour. */
export interface Piece {
  /** In epoch ms. */
  readonly start: number
  readonly ms: number
  readonly rows: Omit<PeriodRows, 'quarters'>
  /** The stored time that it is all or the rest of, if some of it may lie in another period than the one that this counts to. */
  readonly undivided?: StoredPeriod
}

/** Returns true if the time from `start` on lies in one of the periods. */
export const isInOne = (periods: readonly LocalPeriod[], start: number, ms: number): boolean =>
  periods.some((period) => period.start <= start && start + ms <= period.end)

/**
 * Returns the pieces of a day in more than one period: its hours, if all that the day has is in them, and quarters of the hours
 * that lie in more than one; else the day as a whole.
 */
export function piecesOf(
  day: PeriodRows,
  dayStart: number,
  hours: readonly PeriodRows[],
  periods: readonly LocalPeriod[],
): Piece[] {
  // Hours are kept for a shorter time than days, and some may be gone.
  if (requestsIn(hours) < requestsIn([day])) {
    return [{ start: dayStart, ms: PERIOD_MS.day, rows: day, undivided: 'day' }]
  }
  return hours.flatMap((rows, index): readonly Piece[] => {
    const start = dayStart + index * PERIOD_MS.hour
    if (isInOne(periods, start, PERIOD_MS.hour)) return [{ start, ms: PERIOD_MS.hour, rows }]
    return partsOf(rows, start)
  })
}

/** Divides an hour by the quarters that its rows have counts of. The rest of it stays together. */
function partsOf({ rows, quarters, policies, choices }: PeriodRows, start: number): Piece[] {
  const rest = new RowSums<(typeof rows)[number]>()
  rest.add(rows)
  rest.add(quarters, -1)
  const parts = Array.from({ length: QUARTERS }, (_, quarter): Piece => {
    const at = start + quarter * QUARTER_MS
    const own = quarters.filter((row) => row.start === at)
    return { start: at, ms: QUARTER_MS, rows: { rows: own, policies: [], choices: [] } }
  })
  const others = { rows: rest.startingAt({ start }), policies, choices }
  // In the order of their starts.
  return [{ start, ms: PERIOD_MS.hour, rows: others, undivided: 'hour' }, ...parts]
}

const requestsIn = (all: readonly PeriodRows[]): number =>
  all.reduce((sum, { rows }) => rows.reduce((part, { requests }) => part + requests, sum), 0)
