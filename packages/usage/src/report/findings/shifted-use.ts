import { findByTenant, type Detector } from './finding.ts'
import { PERIOD_MS } from '../../hours.ts'
import { measured, measureName, unitOf } from './measure.ts'
import { groupBy, sum } from './series.ts'
import { amount, percent, timeName, times } from './words.ts'

/** The share of the tenant's use that a model or route has now, and had before. */
const LEAST_NOW = 0.6
const MOST_BEFORE = 0.2

/** The factor over the largest day before, of these at least, and the share of everyone's. */
const LEAST_FACTOR = 2
const LEAST_DAYS = 3
const LEAST_SHARE = 0.05

/** The time from one day that is looked at to the next. */
const STEP_MS = PERIOD_MS.day / 4

/** Finds those who use far more than on any day before, most of it on a model or a route that they hardly used. */
export const shiftedUse: Detector = ({ hours }) => {
  const { allowed, measure } = measured(hours.rows)
  const used = (rows: typeof allowed): number => sum(rows.map((row) => row[measure]))
  return findByTenant(allowed, (tenant, rows) => {
    for (let end = hours.to; end >= hours.from + (LEAST_DAYS + 1) * PERIOD_MS.day; end -= STEP_MS) {
      const start = end - PERIOD_MS.day
      const inDay = ({ start: at }: { readonly start: number }): boolean => at >= start && at < end
      const now = rows.filter(inDay)
      const before = rows.filter((row) => row.start < start)
      const [usedNow, usedBefore] = [used(now), used(before)]
      if (usedNow === 0 || usedBefore === 0) continue
      const days = groupBy(before, (row) => String(Math.ceil((start - row.start) / PERIOD_MS.day)))
      const largest = Math.max(...[...days.values()].map(used))
      if (days.size < LEAST_DAYS || usedNow < LEAST_FACTOR * largest) continue
      const share = usedNow / used(allowed.filter(inDay))
      if (share < LEAST_SHARE) continue
      for (const part of ['model', 'route'] as const) {
        for (const [name, ofName] of groupBy(now, (row) => row[part])) {
          const shareNow = used(ofName) / usedNow
          const shareBefore = used(before.filter((row) => row[part] === name)) / usedBefore
          if (name === '' || shareNow < LEAST_NOW || shareBefore > MOST_BEFORE) continue
          return {
            text: `${tenant} used ${amount(usedNow, unitOf(measure))} in the 24 hours from ${timeName(start)}, ${times(usedNow / largest)} its largest day before: ${percent(shareNow)} of its ${measureName(measure)} on the ${part} ${name}, where it was ${percent(shareBefore)}.`,
            evidence: {
              measure,
              from: start,
              [part]: name,
              used: usedNow,
              largestBefore: largest,
              shareNow,
              shareBefore,
              share,
            },
          }
        }
      }
    }
    return undefined
  })
}
