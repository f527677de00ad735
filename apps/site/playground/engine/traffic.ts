import { choice, lines, time, timeOrNone, whole, type Fields, type Values } from './fields.ts'
import { refused } from './issue.ts'
import { logTraffic } from './log-traffic.ts'
import type { Arrival, Traffic } from './arrivals.ts'
import { seededRandom } from './random.ts'

export interface TrafficKind<Own extends Fields = Fields> {
  readonly title: string
  readonly describe: string
  readonly fields: Own
  readonly make: (
    values: Values<Own>,
    seed: number,
    pause?: () => Promise<void>,
  ) => Promise<Traffic> | Traffic
}

/** The most requests that a client may send by itself in a scenario. */
const MAX_ARRIVALS = 200_000

const LOG = `time,tenant,cost
2026-01-05T09:00:00Z,acme,0.012
2026-01-05T09:00:02Z,acme,0.031
2026-01-05T09:00:03Z,birch,0.009
2026-01-05T09:00:04Z,acme,0.018
`

/** Infers the types of the values from the fields. */
const kind = <const Own extends Fields>(of: TrafficKind<Own>): TrafficKind =>
  of as unknown as TrafficKind

/** A Monday morning, at the beginning of a minute and an hour. */
const START_MS = Date.UTC(2026, 0, 5, 9)

const NAMES = [
  'acme',
  'birch',
  'cedar',
  'delta',
  'ember',
  'fjord',
  'grove',
  'harbor',
  'iris',
  'juno',
]
const tenantName = (index: number): string => NAMES[index] ?? `tenant-${index + 1}`
const numbered = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

const tenants = whole('Tenants', '3', 1, 50)
const lasts = time('Lasts', '5m')

export const TRAFFIC_KINDS = {
  steady: kind({
    title: 'Steady',
    describe: 'Each tenant asks at random times, at an even rate.',
    fields: { tenants, perMinute: whole('Requests a minute, each', '75', 1, 60_000), lasts },
    make: (v, seed) => trafficOf(poisson(v, seededRandom(seed))),
  }),
  burst: kind({
    title: 'Bursts',
    describe: 'Each tenant asks many times at once, again and again, as jobs and batches do.',
    fields: {
      tenants,
      size: whole('Requests at once, each', '80', 1, 10_000),
      every: time('Every', '1m'),
      lasts,
    },
    make: (v, seed) => {
      const random = seededRandom(seed)
      const count = Math.ceil(v.lasts / v.every)
      assertCount('every', count * v.tenants * v.size)
      const bursts = numbered(count, (index) => index * v.every)
      const burst = (at: number, tenant: string) =>
        numbered(v.size, () => ({ at: at + Math.floor(random() * 1_000), tenant }))
      return trafficOf(
        bursts.flatMap((at) => numbered(v.tenants, (index) => burst(at, tenantName(index))).flat()),
      )
    },
  }),
  storm: kind({
    title: 'Retry storm',
    describe:
      'Clients that are denied try again soon, or when the answer says. A fixed window has room for all at its next beginning; a sliding window for one after the other, so some of those that wait together are denied again.',
    fields: {
      tenants: whole('Tenants', '1', 1, 50),
      clients: whole('Clients of each', '40', 1, 1_000),
      every: time('Each asks every', '20s'),
      retry: choice('A denied client', {
        soon: 'tries again soon',
        after: 'waits for Retry-After',
      }),
      pause: time('Soon is after', '1s'),
      tries: whole('Tries at most', '5', 1, 20),
      lasts,
    },
    make: (v, seed) => {
      const random = seededRandom(seed)
      assertCount('clients', v.tenants * v.clients * Math.ceil(v.lasts / v.every))
      const client = (tenant: string): Arrival[] => {
        const first = Math.floor(random() * v.every)
        return numbered(Math.ceil((v.lasts - first) / v.every), (turn) => ({
          at: first + turn * v.every,
          tenant,
        }))
      }
      const all = numbered(v.tenants, (index) =>
        numbered(v.clients, () => client(tenantName(index))),
      )
      return {
        ...trafficOf(all.flat(2)),
        retryIn: (retryAfterMs, attempt) => {
          if (attempt >= v.tries || retryAfterMs === null) return undefined
          // As the header says it, in whole seconds.
          return v.retry === 'soon' ? v.pause : Math.ceil(retryAfterMs / 1_000) * 1_000
        },
      }
    },
  }),
  runaway: kind({
    title: 'Runaway agent',
    describe: 'An agent in a loop asks without a pause, beside tenants that behave.',
    fields: {
      tenants,
      perMinute: whole('Requests a minute, each', '20', 1, 60_000),
      pause: time('The agent asks every', '250ms'),
      begins: timeOrNone('Its loop begins after, or 0s', '1m'),
      lasts,
    },
    make: (v, seed) => {
      if (v.begins >= v.lasts) {
        throw refused('traffic.begins', 'traffic.begins', 'must be shorter than "Lasts"')
      }
      const loops = Math.ceil((v.lasts - v.begins) / v.pause)
      assertCount('pause', loops)
      const agent = numbered(loops, (turn) => ({
        at: v.begins + turn * v.pause,
        tenant: 'runaway',
      }))
      return trafficOf([...poisson(v, seededRandom(seed)), ...agent])
    },
  }),
  log: kind({
    title: 'Your log',
    describe:
      'The requests of a CSV, JSON or access log, as sluice replay reads and charges them. It stays in this page: a link leaves it out.',
    fields: { log: lines('Log', LOG) },
    make: ({ log }, _, pause) => logTraffic(log, MAX_ARRIVALS, pause),
  }),
} as const satisfies Record<string, TrafficKind>

export type TrafficName = keyof typeof TRAFFIC_KINDS

const never = (): undefined => undefined

/** Sorts arrivals. Those of one millisecond stay in their order. */
function trafficOf(arrivals: readonly Arrival[]): Traffic {
  assertCount('lasts', arrivals.length)
  return {
    startMs: START_MS,
    arrivals: arrivals.toSorted((a, b) => a.at - b.at),
    retryIn: never,
  }
}

/** Returns the requests of each tenant. Their gaps are random, as those of many people are. */
function poisson(
  v: { readonly tenants: number; readonly perMinute: number; readonly lasts: number },
  random: () => number,
): Arrival[] {
  assertCount('perMinute', (v.tenants * v.perMinute * v.lasts) / 60_000)
  return numbered(v.tenants, (index) => {
    const arrivals: Arrival[] = []
    const tenant = tenantName(index)
    for (let at = 0; ;) {
      at += (-Math.log(1 - random()) * 60_000) / v.perMinute
      if (at >= v.lasts) return arrivals
      arrivals.push({ at: Math.floor(at), tenant })
    }
  }).flat()
}

function assertCount(field: string, count: number): void {
  if (count <= MAX_ARRIVALS) return
  const most = MAX_ARRIVALS.toLocaleString('en-US')
  throw refused(
    `traffic.${field}`,
    `traffic.${field}`,
    `must make at most ${most} requests together; choose fewer or a shorter time`,
  )
}
