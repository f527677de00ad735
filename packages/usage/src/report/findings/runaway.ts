import type { Detector, Finding } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { measureOf, unitOf } from './measure.ts'
import { groupBy, median, sumByTime } from './series.ts'
import { amount, isOneTenant, timeName, times } from './words.ts'

/** The hours before it to compare with. */
const LEAST_HOURS = 24

/** The factor over the tenant's own busiest two hours, and over the usual two hours of all others. */
const PER_OWN = 5
const PER_OTHERS = 1.5

/** What is too little to be worth a look, whatever it is compared with: a dollar, or so many tokens or requests. */
const LEAST = { usd: 1_000_000, tokens: 100_000, requests: 100 }

/**
 * Finds those who use more in two hours than all others together, and far more than ever before. An hour that is not
 * over counts as it is, so that one who uses many times as much as all others is found in minutes.
 */
export const runaway: Detector = ({ hours }) => {
  const allowed = hours.rows.filter(({ outcome }) => outcome === 'allowed')
  const measure = measureOf(allowed)
  if (measure === undefined) return []
  const { from, to } = hours
  const count = Math.ceil((to - from) / PERIOD_MS.hour)
  const twoHours = (rows: typeof allowed): number[] => {
    const sums = sumByTime(rows, (row) => row[measure])
    const at = (hour: number): number => sums.get(from + hour * PERIOD_MS.hour) ?? 0
    return Array.from({ length: count }, (_, hour) => at(hour) + at(hour - 1))
  }
  const everyone = twoHours(allowed)
  return [...groupBy(allowed, ({ tenant }) => tenant)].flatMap(([tenant, rows]): Finding[] => {
    if (!isOneTenant(tenant)) return []
    const own = twoHours(rows)
    const others = median(own.map((used, hour) => (everyone[hour] ?? 0) - used))
    let before = 0
    for (let hour = 2; hour < count; hour += 1) {
      const used = own[hour] ?? 0
      before = Math.max(before, own[hour - 2] ?? 0)
      const isMuch = used >= LEAST[measure] && others > 0 && used >= PER_OTHERS * others
      if (hour < LEAST_HOURS || !isMuch || used < PER_OWN * before) continue
      const start = from + (hour - 1) * PERIOD_MS.hour
      const text = `${tenant} has used ${amount(used, unitOf(measure))} from ${timeName(start)}, ${times(used / others)} what all others use in two hours, and ${before === 0 ? 'nothing before' : `${times(used / before)} what it ever used in two`}: a loop, or a key that leaked.`
      return [
        { kind: 'runaway', tenant, text, evidence: { measure, from: start, used, others, before } },
      ]
    }
    return []
  })
}
