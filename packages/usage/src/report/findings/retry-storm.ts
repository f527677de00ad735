import type { UsageRow } from '../../rows.ts'
import type { Detector, Finding } from './finding.ts'
import { groupBy, median, sum, sumByTime } from './series.ts'
import { isOneTenant, timeName, times, amount } from './words.ts'

/** The least denials in an hour that are a storm. */
const LEAST_DENIED = 100

/** The denials for each allowed request, and the requests for each of a usual hour. */
const PER_ALLOWED = 3
const PER_USUAL = 5

/** The denials in an hour, and for each allowed request, that are a storm without a usual hour to compare. */
const MANY_DENIED = 1_000
const MANY_PER_ALLOWED = 10

/** Finds clients that answer denials by asking more often. */
export const retryStorm: Detector = ({ hours }) =>
  [...groupBy(hours.rows, ({ tenant }) => tenant)].flatMap(([tenant, rows]): Finding[] => {
    if (!isOneTenant(tenant)) return []
    const all = sumByTime(rows, ({ requests }) => requests)
    const denied = sumByTime(rows, deniedRequests)
    const stormy = [...denied].filter(([hour, count]) => {
      const requests = all.get(hour) ?? 0
      return isStorm(count, requests - count, () => requests / usualBeside(hour, all))
    })
    const [hour, count] = stormy.toSorted(([, a], [, b]) => b - a)[0] ?? []
    if (hour === undefined || count === undefined) return []
    const requests = all.get(hour) ?? 0
    const usual = usualBeside(hour, all)
    const compared = usual === 0 ? '' : `, ${times(requests / usual)} its usual hour`
    const total = sum(stormy.map(([, each]) => each))
    return [
      {
        kind: 'retry-storm',
        tenant,
        text: `${tenant} was denied ${amount(count, 'request')} of ${requests.toLocaleString('en-US')} in the hour from ${timeName(hour)}${compared}: its client retries without waiting.`,
        evidence: { hour, denied: count, requests, usual, hours: stormy.length, total },
      },
    ]
  })

/** The requests of a usual hour, of the others; 0 if there are none. */
const usualBeside = (hour: number, all: ReadonlyMap<number, number>): number =>
  median([...all].filter(([other]) => other !== hour).map(([, requests]) => requests))

const deniedRequests = ({ outcome, requests }: UsageRow): number =>
  outcome === 'denied' ? requests : 0

function isStorm(denied: number, allowed: number, ofUsual: () => number): boolean {
  return (
    (denied >= LEAST_DENIED && denied >= PER_ALLOWED * allowed && ofUsual() >= PER_USUAL) ||
    (denied >= MANY_DENIED && denied >= MANY_PER_ALLOWED * allowed)
  )
}
