import type { Detector } from './finding.ts'
import { PERIOD_MS, dayOf } from '../../hours.ts'
import { findByBudget } from './budgets.ts'
import { sumByTime } from './series.ts'
import { amount, dayName, percent, tenantName } from './words.ts'

/** The share of a day's limit that is near it. */
const NEAR = 0.9

/** Finds those who have used most of a limit of a day, on their fullest day. */
export const nearCap: Detector = ({ hours, by }) =>
  findByBudget({ usage: hours, by, hasWindow: (ms) => ms === PERIOD_MS.day }, (budget) => {
    const { tenant, route, policy, unit, limit, rows } = budget
    const days = [...sumByTime(rows, ({ units }) => units, dayOf)]
    const near = days.filter(([, units]) => units >= NEAR * limit)
    const [day, units] = near.toSorted(([, a], [, b]) => b - a)[0] ?? []
    if (day === undefined || units === undefined) return undefined
    const often = near.length > 1 ? `, and came as near on ${near.length} days` : ''
    const where = route === '' ? '' : ` on ${route}`
    return {
      text: `${tenantName(tenant)} used ${percent(units / limit)} of "${policy}" (${amount(limit, unit)} a day)${where} on ${dayName(day)}${often}.`,
      evidence: { policy, route, unit, limit, day, units, days: near.length },
    }
  })
