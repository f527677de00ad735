import { findByTenant, type Detector } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { measured, measureName, unitOf } from './measure.ts'
import { sumByTime } from './series.ts'
import { amount, percent, timeName, times } from './words.ts'

/** Days in a row, of which each is larger than the one before by a factor, and the last than the first. */
const DAYS = 6
const EACH_FACTOR = 1.08
const LEAST_FACTOR = 2

/** The factor of the two smallest steps: working days after a weekend are no rise. */
const STEADY_FACTOR = 1.25

/** The share of everyone's on the last day. */
const LEAST_SHARE = 0.1

/** Finds those who use more each day, until they use much of all. */
export const steadyRise: Detector = ({ hours }) => {
  const { allowed, measure } = measured(hours.rows)
  const dayCount = Math.floor((hours.to - hours.from) / PERIOD_MS.day)
  const first = hours.to - dayCount * PERIOD_MS.day
  const daysOf = (rows: typeof allowed): number[] => {
    const sums = sumByTime(
      rows,
      (row) => row[measure],
      (start) => Math.floor((start - first) / PERIOD_MS.day),
    )
    return Array.from({ length: dayCount }, (_, day) => sums.get(day) ?? 0)
  }
  const everyone = daysOf(allowed)
  return findByTenant(allowed, (tenant, rows) => {
    const own = daysOf(rows)
    for (let last = dayCount - 1; last >= DAYS - 1; last -= 1) {
      const run = own.slice(last - DAYS + 1, last + 1)
      const [from = 0, to = 0, all = 0] = [run[0], run.at(-1), everyone[last]]
      const steps = run.slice(1).map((used, day) => used / (run[day] ?? 0))
      const [smallest = 0, second = 0] = steps.toSorted((a, b) => a - b)
      const isRise =
        smallest >= EACH_FACTOR && to >= LEAST_FACTOR * from && smallest * second >= STEADY_FACTOR
      if (from === 0 || !isRise || to < LEAST_SHARE * all) continue
      const start = first + (last - DAYS + 1) * PERIOD_MS.day
      return {
        text: `${tenant} used more on each of ${DAYS} days from ${timeName(start)}, from ${amount(from, unitOf(measure))} to ${amount(to, unitOf(measure))}, ${times(to / from)} as much and ${percent(to / all)} of all ${measureName(measure)}.`,
        evidence: { measure, from: start, days: DAYS, first: from, last: to, share: to / all },
      }
    }
    return undefined
  })
}
