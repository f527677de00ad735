import { hourOf, PERIOD_MS } from '../../hours.ts'
import { findByTenant, type Detector } from './finding.ts'
import { measured, measureName, unitOf } from './measure.ts'
import { groupBy, median, sumByTime } from './series.ts'
import { minutesOf, sumBySpan, type Span } from './spans.ts'
import { amount, percent, timeName, times } from './words.ts'

/** The share of everyone's that is most of it, and the factors over everyone's usual hour and largest hour before. */
const MOST_OF_ALL = 0.5
const MOST_IF_NEW = 0.65
const OF_USUAL = 0.5
const OF_LARGEST = 1.5

/** The share that is much, for a tenant that is far above its own largest hour. */
const MUCH_OF_ALL = 0.1

/** The factors over the largest hour before that are far above it, and that are as good as new. */
const FAR_ABOVE = 5
const NEW = 50

/** The hours since a tenant was first seen, and those among them with requests, after which its largest says much. */
const KNOWN_MS = 3 * PERIOD_MS.day
const KNOWN_HOURS = 24

/** Below this it may be chance. */
const LEAST_REQUESTS = 20

/** Finds those who at once use much of all, and far more in minutes than they did in any hour before. */
export const runaway: Detector = ({ hours }) => {
  const { allowed, measure } = measured(hours.rows)
  const { allowed: quarters } = measured(hours.quarters)
  const everyone = sumBySpan(allowed, quarters, (row) => row[measure])
  const fleet = [...sumByTime(allowed, (row) => row[measure])].toSorted(([a], [b]) => a - b)
  const [firstHour = Infinity] = fleet[0] ?? []
  const hoursBefore = (hour: number): number[] =>
    fleet.flatMap(([start, used]) => (start < hour && used > 0 ? [used] : []))
  const quartersOf = groupBy(quarters, ({ tenant }) => tenant)

  return findByTenant(allowed, (tenant, rows) => {
    const ownQuarters = quartersOf.get(tenant) ?? []
    const own = sumBySpan(rows, ownQuarters, (row) => row[measure])
    const requests = sumBySpan(rows, ownQuarters, (row) => row.requests)
    const ownHours = [...sumByTime(rows, (row) => row[measure])]
    const isRunaway = (span: Span): boolean => {
      const hour = hourOf(span.start)
      if (hour < firstHour + PERIOD_MS.day || requests.sumOf(span) < LEAST_REQUESTS) return false
      const used = own.sumOf(span)
      const share = used / everyone.sumOf(span)
      if (share < MUCH_OF_ALL) return false
      const before = ownHours.filter(([start]) => start < hour)
      const factor = used / Math.max(0, ...before.map(([, each]) => each))
      if (factor < FAR_ABOVE) return false
      const ofAll = hoursBefore(hour)
      const isKnown =
        before.length >= KNOWN_HOURS && hour >= Math.min(...before.map(([at]) => at)) + KNOWN_MS
      const usual = median(ofAll)
      return (
        (share >= MOST_IF_NEW && factor >= NEW && used >= OF_USUAL * usual) ||
        (share >= MOST_OF_ALL && used >= OF_LARGEST * Math.max(...ofAll)) ||
        (isKnown && used >= MUCH_OF_ALL * usual)
      )
    }
    const span = own.spans.find(isRunaway)
    if (!span) return undefined
    const { start } = span
    const [used, all] = [own.sumOf(span), everyone.sumOf(span)]
    const before = ownHours.filter(([hour]) => hour < hourOf(start)).map(([, each]) => each)
    const largest = Math.max(0, ...before)
    const compared =
      largest > 0 ? `${times(used / largest)} its largest hour before` : 'and nothing before'
    return {
      text: `${tenant} used ${percent(used / all)} of all ${measureName(measure)} in the ${minutesOf(span)} minutes from ${timeName(start)}: ${amount(used, unitOf(measure))}, ${compared}.`,
      evidence: {
        measure,
        from: start,
        minutes: minutesOf(span),
        used,
        share: used / all,
        largestBefore: largest,
        usualOfAll: median(hoursBefore(hourOf(start))),
      },
    }
  })
}
