import type { UsageRow } from '../../rows.ts'
import type { Detector, Finding } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { measureOf, unitOf, type Measure } from './measure.ts'
import { groupBy, median, sumByTime } from './series.ts'
import { amount, isOneTenant, percent, timeName, times } from './words.ts'

/** The share of all that is outsized, if it is not usual. Some tenants are large, and stay so. */
const LEAST_SHARE = 0.2

/** The same for a tenant that has no usual day: a new one may be as large as any other. */
const LEAST_SHARE_OF_NEW = 0.5

/** The factor over a usual day. */
const LEAST_FACTOR = 5

/** Days to compare with. */
const LEAST_DAYS = 3

/** The time from one day that is looked at to the next, so that a night's work is in one of them. */
const STEP_MS = PERIOD_MS.day / 4

/** Finds those who used much of all that was used in 24 hours, and far more than they usually do. */
export const outsizedShare: Detector = ({ hours }) => {
  const { from, to } = hours
  const allowed = hours.rows.filter(({ outcome }) => outcome === 'allowed')
  const measure = measureOf(allowed)
  if (measure === undefined) return []
  const everyone = daySums(allowed, measure, from, to)
  return [...groupBy(allowed, ({ tenant }) => tenant)].flatMap(([tenant, rows]): Finding[] => {
    if (!isOneTenant(tenant)) return []
    const own = daySums(rows, measure, from, to)
    const peak = own.indexOf(Math.max(...own))
    const others = own.filter((_, index) => index % 4 === peak % 4 && index !== peak)
    const [used = 0, all = 0, usual] = [own[peak], everyone[peak], median(others)]
    if (used === 0) return []
    const isNew = usual === 0
    if (others.length < LEAST_DAYS || used < (isNew ? LEAST_SHARE_OF_NEW : LEAST_SHARE) * all)
      return []
    if (used < LEAST_FACTOR * usual) return []
    const start = from + peak * STEP_MS
    const compared = isNew
      ? 'and hardly anything on other days'
      : `${times(used / usual)} its usual day`
    return [
      {
        kind: 'outsized-share',
        tenant,
        text: `${tenant} used ${percent(used / all)} of all ${measure === 'usd' ? 'dollars' : measure} in the 24 hours from ${timeName(start)}: ${amount(used, unitOf(measure))}, ${compared}.`,
        evidence: { measure, from: start, used, share: used / all, usual },
      },
    ]
  })
}

/** Returns what was used in 24 hours, for each step of 6 hours. */
function daySums(rows: readonly UsageRow[], measure: Measure, from: number, to: number): number[] {
  const stepOf = (start: number): number => Math.floor((start - from) / STEP_MS)
  const steps = sumByTime(rows, (row) => row[measure], stepOf)
  const days = Math.max(0, Math.floor((to - from) / STEP_MS) - 3)
  return Array.from({ length: days }, (_, first) =>
    [0, 1, 2, 3].reduce((total, step) => total + (steps.get(first + step) ?? 0), 0),
  )
}
