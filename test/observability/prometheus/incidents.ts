import type { Incident, Service } from './simulated.ts'

/** An incident of a small service, and the alerts that it raises: the first is about it, and its page names the others. */
interface Case {
  readonly name: string
  readonly alerts: readonly [string, ...string[]]
  readonly incident: Incident
  readonly degraded?: Service['degraded']
  readonly hasLines?: Service['hasLines']
  /** The same, as a real limiter meets it. */
  readonly fault: Fault
}

/** An incident of a real limiter: one of so many calls fails, is slow, or is denied. */
export interface Fault {
  readonly failsEvery?: number
  readonly slowEvery?: number
  readonly deniedEvery?: number
  /** The calls for each of a quiet time. */
  readonly times?: number
  /** The micro-dollars that the first call spends, of 1,000. */
  readonly spends?: number
  readonly isGone?: boolean
  /** Jobs fail for good. */
  readonly failsJobs?: boolean
  /** The age of the oldest job, in milliseconds. */
  readonly oldestMs?: number
  /** Requests wait in a line: their clients leave, or they are let in late. */
  readonly waits?: 'in vain' | 'long'
  /** The upstream of a limit fails. */
  readonly failsUpstream?: boolean
}

const outage: Incident = (minute) => ({ ...minute, denied: 0, slow: 0, errors: minute.decisions })

export const INCIDENTS: readonly Case[] = [
  {
    name: 'a client that misbehaves',
    fault: { deniedEvery: 3 },
    alerts: ['SluiceBlockRateHigh'],
    incident: (minute) => ({ ...minute, denied: Math.round(minute.decisions * 0.3) }),
  },
  ...(['allow', 'local', 'deny'] as const).map((degraded): Case => ({
    name: `a Redis that is down, with onStoreError: '${degraded}'`,
    fault: { failsEvery: 1, deniedEvery: 2 },
    alerts: ['SluiceStoreFailing', 'SluiceDegraded'],
    incident: outage,
    degraded,
  })),
  {
    name: 'a Redis that fails a tenth of the calls, which are denied',
    fault: { failsEvery: 10 },
    alerts: ['SluiceStoreFailing', 'SluiceDegraded'],
    incident: (minute) => ({ ...minute, errors: Math.ceil(minute.decisions / 10) }),
    degraded: 'deny',
  },
  {
    name: 'clients that try again at once while Redis is down',
    fault: { failsEvery: 1, times: 6 },
    alerts: ['SluiceStoreFailing', 'SluiceDegraded', 'SluiceUnusualTraffic'],
    incident: (minute, index) => outage({ ...minute, decisions: minute.decisions * 5 }, index),
    degraded: 'deny',
  },
  {
    name: 'a Redis that now and then times out',
    fault: { failsEvery: 75 },
    alerts: ['SluiceDegraded'],
    incident: (minute, index) => ({ ...minute, errors: index % 6 === 0 ? 1 : 0 }),
    degraded: 'deny',
  },
  {
    name: 'a Redis that is slow',
    fault: { slowEvery: 3 },
    alerts: ['SluiceStoreSlow'],
    incident: (minute) => ({ ...minute, slow: Math.round(minute.decisions * 0.3) }),
  },
  {
    name: 'an agent in a loop',
    fault: { times: 6 },
    alerts: ['SluiceUnusualTraffic'],
    incident: (minute) => ({ ...minute, decisions: minute.decisions * 5 }),
  },
  {
    name: 'an agent in a loop that its limit denies',
    fault: { times: 6, deniedEvery: 2 },
    alerts: ['SluiceUnusualTraffic', 'SluiceBlockRateHigh'],
    incident: (minute) => ({
      ...minute,
      decisions: minute.decisions * 5,
      denied: minute.decisions * 4,
    }),
  },
  {
    name: 'a budget that is nearly spent',
    fault: { spends: 970 },
    alerts: ['SluiceBudgetAlmostUsed'],
    incident: (minute) => ({ ...minute, budgetUsed: 0.97 }),
  },
  {
    name: 'a queue without a worker',
    fault: { oldestMs: 7_200_000 },
    alerts: ['SluiceQueueOld'],
    incident: (minute, index) => ({ ...minute, jobsDone: 0, oldest: 3_000 + 60 * index }),
  },
  {
    name: 'jobs that fail for good',
    fault: { failsJobs: true },
    alerts: ['SluiceJobsFailing'],
    incident: (minute) => ({ ...minute, jobsFailed: minute.jobsDone }),
  },
  {
    name: 'clients that leave their line',
    hasLines: true,
    fault: { waits: 'in vain', times: 2 },
    alerts: ['SluiceWaitsGivenUp'],
    incident: (minute) => ({
      ...minute,
      denied: 0,
      waits: 1,
      waitsInVain: Math.ceil(minute.decisions * 0.03),
    }),
  },
  {
    name: 'a line that most leave in vain',
    hasLines: true,
    fault: { waits: 'in vain', deniedEvery: 3 },
    alerts: ['SluiceWaitsGivenUp', 'SluiceBlockRateHigh'],
    incident: (minute) => ({ ...minute, waitsInVain: Math.ceil(minute.decisions * 0.2) }),
  },
  {
    name: 'a line that is long',
    hasLines: true,
    fault: { waits: 'long' },
    alerts: ['SluiceWaitsLong'],
    incident: (minute) => ({ ...minute, waitsLong: minute.waits, waitsInVain: 0 }),
  },
  {
    name: 'an upstream that fails for long',
    hasLines: true,
    fault: { failsUpstream: true, times: 2 },
    alerts: ['SluiceLimitCut'],
    incident: (minute) => ({
      ...minute,
      denied: 0,
      waitsInVain: 0,
      limit: 10,
      limitDenied: Math.ceil(minute.decisions * 0.03),
    }),
  },
  {
    name: 'an upstream that fails for long, for all that asks for it',
    hasLines: true,
    fault: { failsUpstream: true, deniedEvery: 3 },
    alerts: ['SluiceLimitCut', 'SluiceBlockRateHigh'],
    incident: (minute) => ({
      ...minute,
      limit: 10,
      limitDenied: Math.ceil(minute.decisions * 0.3),
    }),
  },
  {
    name: 'an endpoint that is gone',
    fault: { isGone: true },
    alerts: ['SluiceMetricsMissing'],
    incident: () => undefined,
  },
]

/** The reports of a service with hardly a request an hour, whatever share of it is bad. */
export const FEW: readonly Incident[] = (
  [
    (minute) => ({ ...minute, denied: 1 }),
    (minute) => ({ ...minute, errors: 1 }),
    (minute) => ({ ...minute, slow: 2 }),
    (minute) => minute,
    (minute) => ({ ...minute, budgetUsed: 1 }),
    (minute) => ({ ...minute, jobsFailed: 1 }),
    (minute) => ({ ...minute, waits: 1, waitsLong: 1, waitsInVain: 1, limit: 10, limitDenied: 1 }),
  ] satisfies Incident[]
).map((incident: Incident): Incident => (minute, index) => {
  const none = {
    ...minute,
    decisions: 0,
    denied: 0,
    errors: 0,
    slow: 0,
    jobsDone: 0,
    jobsFailed: 0,
    waits: 0,
    waitsLong: 0,
    waitsInVain: 0,
    limitDenied: 0,
  }
  return index % 20 === 0 ? incident({ ...none, decisions: 2 }, index) : none
})
