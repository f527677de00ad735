import type { UsageRow } from '../../rows.ts'
import { PERIOD_MS } from '../../hours.ts'
import { findByTenant, type Detector } from './finding.ts'
import { groupBy, median, sumByTime } from './series.ts'
import { minutesOf, sumBySpan, type Span } from './spans.ts'
import { amount, timeName } from './words.ts'

/** The least denials in an hour or less that are a storm, and the denials for each allowed request. */
const LEAST_DENIED = 100
const PER_ALLOWED = 3

/** The denials for each of a usual hour. */
const PER_USUAL = 5

/** The denials in an hour, and for each allowed request, that are a storm whatever is usual. */
const MANY_DENIED = 1_000
const MANY_PER_ALLOWED = 10

/** Finds clients that answer denials by asking more often. */
export const retryStorm: Detector = ({ hours }) => {
  const quartersOf = groupBy(hours.quarters ?? [], ({ tenant }) => tenant)
  return findByTenant(hours.rows, (tenant, rows) => {
    const quarters = quartersOf.get(tenant) ?? []
    const all = sumBySpan(rows, quarters, ({ requests }) => requests)
    const denied = sumBySpan(rows, quarters, deniedRequests)
    const perHour = [...sumByTime(rows, deniedRequests).values()]
    // The hour of a storm is not usual, where there are few.
    const usual = perHour.length > 2 ? median(perHour) : 0
    const isStorm = (span: Span): boolean => {
      const count = denied.sumOf(span)
      const others = all.sumOf(span) - count
      return (
        (count >= LEAST_DENIED && count >= PER_ALLOWED * others && count >= PER_USUAL * usual) ||
        (count >= MANY_DENIED && count >= MANY_PER_ALLOWED * others)
      )
    }
    const storms = all.spans.filter(isStorm)
    const span = storms.toSorted((a, b) => denied.sumOf(b) - denied.sumOf(a))[0]
    if (!span) return undefined
    const [count, requests] = [denied.sumOf(span), all.sumOf(span)]
    const duration = span.ms === PERIOD_MS.hour ? 'hour' : `${minutesOf(span)} minutes`
    return {
      text: `${tenant} was denied ${amount(count, 'request')} of ${requests.toLocaleString('en-US')} in the ${duration} from ${timeName(span.start)}, where ${usual.toLocaleString('en-US')} an hour are usual: its client retries without waiting.`,
      evidence: { from: span.start, minutes: minutesOf(span), denied: count, requests, usual },
    }
  })
}

const deniedRequests = ({ outcome, requests }: UsageRow): number =>
  outcome === 'denied' ? requests : 0
