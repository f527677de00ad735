import type { Detector, Finding } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { budgetsOf, type Budget } from './budgets.ts'
import { sum, sumByTime, variation } from './series.ts'
import { amount, percent, timeName } from './words.ts'

/** The least share of a limit that a scraper uses. One that backs off uses almost all of it. */
const LEAST_SHARE = 0.85

/** The most that its hours differ. People sleep, and their traffic with them. */
const MOST_VARIATION = 0.08

/** The hours in a row, day and night. */
const HOURS = 24

/** Finds those who use almost all of a limit in every hour of a day: so does a scraper that knows the limit. */
export const abnormalUsage: Detector = ({ hours, by }) =>
  budgetsOf(hours, by, (windowMs) => windowMs <= PERIOD_MS.hour).flatMap((budget): Finding[] => {
    const { tenant, route, policy, unit, limit, windowMs } = budget
    if (tenant === '') return []
    const capacity = (limit * PERIOD_MS.hour) / windowMs
    const run = longestFlatRun(budget, capacity)
    if (run === undefined) return []
    const share = sum(run.values) / run.values.length / capacity
    const where = route === '' ? '' : ` on ${route}`
    return [
      {
        kind: 'abnormal-usage',
        tenant,
        text: `${tenant} used ${percent(share)} of "${policy}" (${amount(limit, unit)} in ${windowMs / 1_000} s)${where} in every one of ${run.values.length} hours, day and night, from ${timeName(run.start)}: a scraper does so.`,
        evidence: { policy, route, unit, limit, share, hours: run.values.length, from: run.start },
      },
    ]
  })

interface Run {
  readonly start: number
  readonly values: readonly number[]
}

/** Returns the longest run of hours that are alike and near the capacity, if it is long enough. */
function longestFlatRun({ rows }: Budget, capacity: number): Run | undefined {
  const units = sumByTime(rows, (row) => row.units)
  let run: { start: number; values: number[] } | undefined
  let longest: Run | undefined
  for (const start of [...units.keys()].toSorted((a, b) => a - b)) {
    const value = units.get(start) ?? 0
    const follows = run && start === run.start + run.values.length * PERIOD_MS.hour
    if (value < LEAST_SHARE * capacity) {
      run = undefined
    } else if (run && follows) {
      run.values.push(value)
    } else {
      run = { start, values: [value] }
    }
    if (run && run.values.length > (longest?.values.length ?? 0)) longest = run
  }
  // The first and the last hour may be parts of one.
  const inner = longest?.values.slice(1, -1) ?? []
  return inner.length >= HOURS - 2 && variation(inner) <= MOST_VARIATION ? longest : undefined
}
