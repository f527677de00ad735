import { findByTenant, type Detector } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { flatDay, hourWindows, sum, sumByTime, threeHourSums, variation } from './series.ts'
import { amount, timeName, times } from './words.ts'

/** The days before, and how much their hours differ, that are a rhythm of people. */
const DAYS_BEFORE = 2
const LEAST_RHYTHM = 0.35

/** The factor over a usual hour, the least requests in a day, and the least share of everyone's. */
const LEAST_FACTOR = 2
const LEAST_REQUESTS = 1_000
const LEAST_SHARE = 0.02

/** Finds those who had days and nights, and now ask evenly for 24 hours: so does a bot. */
export const roundTheClock: Detector = ({ hours }) => {
  const everyone = sumByTime(hours.rows, ({ requests }) => requests)
  return findByTenant(hours.rows, (tenant, rows) => {
    const own = sumByTime(rows, ({ requests }) => requests)
    const first = Math.min(...own.keys())
    const found = hourWindows(own).find(({ start, values }) => {
      if (start < first + DAYS_BEFORE * PERIOD_MS.day || sum(values) < LEAST_REQUESTS) return false
      const before = valuesFrom(first, start, own)
      const all = sum(valuesFrom(start, start + PERIOD_MS.day, everyone))
      return (
        flatDay(values) &&
        sum(values) >= LEAST_SHARE * all &&
        sum(values) / values.length >= (LEAST_FACTOR * sum(before)) / before.length &&
        variation(threeHourSums(before)) >= LEAST_RHYTHM
      )
    })
    if (!found) return undefined
    const { start, values } = found
    const before = valuesFrom(first, start, own)
    const [perHour, usual] = [sum(values) / values.length, sum(before) / before.length]
    return {
      text: `${tenant} made ${amount(sum(values), 'request')} in the 24 hours from ${timeName(start)}, night and day alike and ${times(perHour / usual)} its usual hour, where it had days and nights before: a bot does so.`,
      evidence: {
        from: start,
        requests: sum(values),
        usual,
        variation: variation(threeHourSums(values)),
        variationBefore: variation(threeHourSums(before)),
      },
    }
  })
}

/** The value of each hour of a stretch. */
const valuesFrom = (from: number, to: number, of: ReadonlyMap<number, number>): number[] =>
  Array.from(
    { length: (to - from) / PERIOD_MS.hour },
    (_, hour) => of.get(from + hour * PERIOD_MS.hour) ?? 0,
  )
