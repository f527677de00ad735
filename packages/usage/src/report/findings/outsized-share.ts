import type { UsageRow } from '../../rows.ts'
import { findByTenant, type Detector } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { measured, measureName, unitOf, type Measure } from './measure.ts'
import { median, sumByTime } from './series.ts'
import { amount, percent, timeName, times } from './words.ts'

/** The share of all that is outsized, if it is not usual. Some tenants are large, and stay so. */
const LEAST_SHARE = 0.2

/** The factor over a usual day. */
const LEAST_FACTOR = 5

/** Days to compare with. */
const LEAST_DAYS = 3

/** The time from one day that is looked at to the next, so that a night's work is in one of them. */
const STEP_MS = PERIOD_MS.day / 4

/** Finds those who used much of all that was used in 24 hours, and far more than they usually do. */
export const outsizedShare: Detector = ({ hours }) => {
  const { from, to } = hours
  const { allowed, measure } = measured(hours.rows)
  const everyone = daySums(allowed, measure, from, to)
  return findByTenant(allowed, (tenant, rows) => {
    const own = daySums(rows, measure, from, to)
    const peak = own.indexOf(Math.max(...own))
    const others = own.filter((_, index) => index % 4 === peak % 4 && index !== peak)
    const [used = 0, all = 0, usual] = [own[peak], everyone[peak], median(others)]
    if (others.length < LEAST_DAYS || usual === 0) return undefined
    if (used < LEAST_SHARE * all || used < LEAST_FACTOR * usual) return undefined
    const start = from + peak * STEP_MS
    return {
      text: `${tenant} used ${percent(used / all)} of all ${measureName(measure)} in the 24 hours from ${timeName(start)}: ${amount(used, unitOf(measure))}, ${times(used / usual)} its usual day.`,
      evidence: { measure, from: start, used, share: used / all, usual },
    }
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
