import type { UsageRow } from '../../rows.ts'
import { PERIOD_MS, QUARTER_MS } from '../../hours.ts'
import { findByBudget, type Budget } from './budgets.ts'
import type { Detector, Evidence } from './finding.ts'
import { flatDay, hourWindows, sum, sumByTime } from './series.ts'
import { amount, percent, timeName } from './words.ts'

/** The least share of a limit that a scraper uses. One that backs off uses almost all of it. */
const LEAST_SHARE = 0.85

/** The share of the quarters of a day, and the hours, in which one with pauses uses almost all. */
const FULL_QUARTERS = 0.3
const FULL_HOURS = 20

const AMOUNTS = { request: 'requests', token: 'tokens', usd: 'usd' } as const

/** Finds those who use almost all of a limit around the clock: so does a scraper that knows the limit. */
export const abnormalUsage: Detector = ({ hours, by }) =>
  findByBudget({ usage: hours, by, hasWindow: (ms) => ms <= PERIOD_MS.day }, (budget) => {
    const { tenant, route, policy, unit, limit, windowMs } = budget
    if (tenant === '') return undefined
    const window = windowMs / 1_000 < 3_600 ? `${windowMs / 1_000} s` : `${windowMs / 3_600_000} h`
    const ofWhat = `"${policy}" (${amount(limit, unit)} in ${window})${route === '' ? '' : ` on ${route}`}`
    const finding = (text: string, start: number, evidence: Evidence['evidence']): Evidence => ({
      text: `${tenant} used ${text} from ${timeName(start)}: a scraper does so.`,
      evidence: { policy, route, unit, limit, ...evidence, from: start },
    })

    const day = nearLimit(budget)
    if (day) {
      const { start, share, hours: count } = day
      const text = `${percent(share)} of ${ofWhat}, day and night alike, in the ${count} hours`
      return finding(text, start, { share, hours: count })
    }
    const pausing = nearLimitWithPauses(budget, hours.quarters ?? [])
    if (!pausing) return undefined
    const { start, full, share } = pausing
    const text = `${percent(LEAST_SHARE)} or more of ${ofWhat} in ${full} of 96 quarter-hours, with pauses by day and night,`
    return finding(text, start, { share, fullQuarters: full, hours: 24 })
  })

/** Returns the first 24 hours that are alike and near the limit, with the hours after them that are, too. */
function nearLimit({ rows, limit, windowMs }: Budget) {
  const capacity = (limit * PERIOD_MS.hour) / windowMs
  const units = sumByTime(rows, (row) => row.units)
  const near = hourWindows(units).filter(
    ({ values }) => sum(values) >= LEAST_SHARE * capacity * values.length && flatDay(values),
  )
  const [first] = near
  if (!first) return undefined
  const starts = new Set(near.map(({ start }) => start))
  let last = first.start
  while (starts.has(last + PERIOD_MS.hour)) last += PERIOD_MS.hour
  const hours = (last - first.start) / PERIOD_MS.hour + first.values.length
  let used = 0
  for (let hour = 0; hour < hours; hour += 1)
    used += units.get(first.start + hour * PERIOD_MS.hour) ?? 0
  return { start: first.start, share: used / capacity / hours, hours }
}

/** Returns the first 24 hours in which quarters near the limit alternate with pauses. */
function nearLimitWithPauses(budget: Budget, quarters: readonly UsageRow[]) {
  const { tenant, route, unit, limit, windowMs } = budget
  const name = AMOUNTS[unit as keyof typeof AMOUNTS] as (typeof AMOUNTS)['usd'] | undefined
  if (name === undefined || windowMs > QUARTER_MS) return undefined
  const capacity = (limit * QUARTER_MS) / windowMs
  const own = quarters.filter(
    (row) =>
      row.tenant === tenant && row.outcome === 'allowed' && (route === '' || row.route === route),
  )
  const full = [...sumByTime(own, (row) => row[name])]
    .filter(([, used]) => used >= LEAST_SHARE * capacity)
    .map(([start]) => ({ start }))
  const perHour = sumByTime(
    full,
    () => 1,
    (start) => start - (start % PERIOD_MS.hour),
  )
  const found = hourWindows(perHour, 0).find(
    ({ values }) =>
      sum(values) >= FULL_QUARTERS * 4 * values.length &&
      values.filter((count) => count > 0).length >= FULL_HOURS,
  )
  if (!found) return undefined
  const count = sum(found.values)
  return { start: found.start, full: count, share: count / 4 / found.values.length }
}
