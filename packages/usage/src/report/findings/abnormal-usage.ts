import type { Detector, Finding } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { budgetsOf, type Budget } from './budgets.ts'
import { sum, sumByTime, variation } from './series.ts'
import { amount, percent, timeName } from './words.ts'

/** The hours in a row, day and night. The first and the last are parts of an hour. */
const HOURS = 24
const WHOLE_HOURS = HOURS - 2

/** The least share of the limit in each whole hour: a scraper that pauses for 20 minutes has two thirds. */
const LEAST_OF_HOUR = 0.4

/** The least share of the limit in all, for limits of a day, and for shorter ones, which pauses leave unused. */
const LEAST_OF_DAY = 0.85
const LEAST_OF_SHORT = 0.7

/** The most that quarters of the day differ, and hours. People sleep, and their traffic with them. */
const MOST_OF_QUARTERS = 0.05
const MOST_OF_HOURS = 0.2

/**
 * Finds those who use almost all of a limit day and night: so does a scraper that knows the limit. A limit of a day is
 * used up as evenly by one that has paced itself.
 */
export const abnormalUsage: Detector = ({ hours, by }) =>
  budgetsOf(hours, by, (windowMs) => windowMs <= PERIOD_MS.day).flatMap((budget): Finding[] => {
    const { tenant, route, policy, unit, limit, windowMs } = budget
    if (tenant === '') return []
    const capacity = (limit * PERIOD_MS.hour) / windowMs
    const run = longestFlatRun(budget, capacity)
    if (run === undefined) return []
    const share = sum(run.values) / run.values.length / capacity
    const where = route === '' ? '' : ` on ${route}`
    const window = windowMs === PERIOD_MS.day ? 'a day' : `in ${windowMs / 1_000} s`
    return [
      {
        kind: 'abnormal-usage',
        tenant,
        text: `${tenant} used ${percent(share)} of "${policy}" (${amount(limit, unit)} ${window})${where} in ${run.values.length} hours in a row, day and night alike, from ${timeName(run.start)}: a scraper does so.`,
        evidence: { policy, route, unit, limit, share, hours: run.values.length, from: run.start },
      },
    ]
  })

interface Run {
  readonly start: number
  /** The units of whole hours. */
  readonly values: readonly number[]
}

/** Returns the longest run of hours whose every day is flat and near the capacity, if there is one. */
function longestFlatRun({ rows, windowMs }: Budget, capacity: number): Run | undefined {
  const least = windowMs === PERIOD_MS.day ? LEAST_OF_DAY : LEAST_OF_SHORT
  const units = sumByTime(rows, (row) => row.units)
  const at = (hour: number): number => units.get(hour) ?? 0
  let run: { start: number; values: number[] } | undefined
  let longest: Run | undefined
  for (const start of [...units.keys()].toSorted((a, b) => a - b)) {
    const end = start + WHOLE_HOURS * PERIOD_MS.hour
    const values = Array.from({ length: WHOLE_HOURS }, (_, hour) =>
      at(start + hour * PERIOD_MS.hour),
    )
    const isWithin = at(start - PERIOD_MS.hour) > 0 && at(end) > 0
    if (!isWithin || !isFlat(values, capacity, least)) {
      run = undefined
      continue
    }
    // Each flat day is a day of the one before it, an hour later.
    if (run) run.values.push(values.at(-1) ?? 0)
    else run = { start, values }
    if (run.values.length > (longest?.values.length ?? 0)) longest = run
  }
  return longest
}

function isFlat(values: readonly number[], capacity: number, least: number): boolean {
  const mean = sum(values) / values.length
  if (mean < least * capacity || Math.min(...values) < LEAST_OF_HOUR * capacity) return false
  const quarters = Array.from({ length: 4 }, (_, quarter) => {
    const part = values.filter((_value, hour) => Math.floor((hour * 4) / values.length) === quarter)
    return sum(part) / part.length
  })
  // Counts of a few differ by chance.
  const chance = 1 / mean
  return (
    variation(quarters) <= Math.hypot(MOST_OF_QUARTERS, Math.sqrt((4 * chance) / values.length)) &&
    variation(values) <= Math.hypot(MOST_OF_HOURS, Math.sqrt(chance))
  )
}
