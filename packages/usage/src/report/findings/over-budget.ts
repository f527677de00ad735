import type { Detector } from './finding.ts'
import { dayOf, monthOf, PERIOD_MS } from '../../hours.ts'
import { findByBudget } from './budgets.ts'
import { sum, sumByTime } from './series.ts'
import { amount, dayName, tenantName } from './words.ts'

/** The shortest and the longest month. Windows of months have 31 days. */
const [LEAST_MONTH_MS, MOST_MONTH_MS] = [28 * PERIOD_MS.day, 31 * PERIOD_MS.day]

const isMonth = (ms: number): boolean => ms >= LEAST_MONTH_MS && ms <= MOST_MONTH_MS

/** Whole days that the pace is taken from: a week, so that it has a weekend. */
const PACE_DAYS = 7
const LEAST_DAYS = 3

/** The share of the budget above which the pace leads, so that it is not a matter of rounding. */
const MARGIN = 1.05

/** Finds budgets in dollars that will be spent before the month ends, at the pace of the last days. */
export const overBudget: Detector = ({ days, by }) => {
  const today = dayOf(days.to - 1)
  const { start: monthStart, end: monthEnd } = monthOf(today)
  if (days.from > monthStart) return []
  return findByBudget({ usage: days, by, hasWindow: isMonth }, (budget) => {
    const { tenant, policy, unit, limit, rows } = budget
    if (unit !== 'usd') return undefined
    const byDay = sumByTime(rows, ({ units }) => units)
    const thisMonth = [...byDay].filter(([day]) => day >= monthStart)
    const spent = sum(thisMonth.map(([, units]) => units))
    // Today is not over yet.
    const before = [...byDay.keys()].filter((day) => day < today)
    const first = Math.max(Math.min(...before), today - PACE_DAYS * PERIOD_MS.day)
    const dayCount = (today - first) / PERIOD_MS.day
    if (before.length === 0 || dayCount < LEAST_DAYS) return undefined
    const pace =
      sum([...byDay].map(([day, units]) => (day >= first && day < today ? units : 0))) / dayCount
    const spentBefore = spent - (byDay.get(today) ?? 0)
    const projected = Math.max(spent, spentBefore + (pace * (monthEnd - today)) / PERIOD_MS.day)
    if (spent < limit && projected < MARGIN * limit) return undefined
    const endsOn = today + (Math.max(0, limit - spentBefore) / pace) * PERIOD_MS.day
    const outlook =
      spent < limit
        ? `and at ${amount(pace, unit)} a day passes it on ${dayName(endsOn)}`
        : `${(monthEnd - today) / PERIOD_MS.day - 1} days before it ends`
    return {
      text: `${tenantName(tenant)} has spent ${amount(spent, unit)} of ${amount(limit, unit)} ("${policy}") this month, ${outlook}.`,
      evidence: { policy, limit, spent, pace, projected, endsOn: Math.floor(endsOn) },
    }
  })
}
