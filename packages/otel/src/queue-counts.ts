/* The jobs of queues as gauges. `@sluice/queue` is not needed: its `countJobs` is given. */
import type { Metric } from './metric-table.ts'
import type { Labels } from './names.ts'

/** Functions that count the jobs of queues, by the name of the queue. */
export type QueueCounts = Readonly<Record<string, () => Promise<CountedJobs>>>

/** The jobs of a queue by state, as `countJobs` returns them. */
interface CountedJobs {
  readonly waiting: number
  readonly delayed: number
  readonly running: number
  readonly failed: number
  /** The age of the oldest that waits, in milliseconds. */
  readonly oldestMs: number
}

const STATES = ['waiting', 'delayed', 'running', 'failed'] as const

/** The metrics of queues, apart from others for who has none. */
export const QUEUE_METRICS: Readonly<Record<'jobs' | 'oldest', Metric>> = {
  jobs: {
    name: 'rate_limiter.queue.jobs',
    kind: 'gauge',
    unit: '{job}',
    description: 'The jobs of a queue: waiting, delayed, running or failed',
  },
  oldest: {
    name: 'rate_limiter.queue.oldest',
    kind: 'gauge',
    unit: 's',
    description: 'The age of the oldest job that waits',
  },
}

/** A gauge's value with its labels. */
export interface GaugeValue {
  readonly metric: Metric
  readonly labels: Labels
  readonly value: number
}

/** Counts the jobs of queues. Leaves out those of which nobody knows, because the store fails. */
export async function gaugesOfQueues(queues: QueueCounts): Promise<GaugeValue[]> {
  const gauges = Object.entries(queues).map(async ([queue, count]): Promise<GaugeValue[]> => {
    const counts = await count().catch(() => undefined)
    if (!counts) return []
    const { jobs, oldest } = QUEUE_METRICS
    const byState = STATES.map((state): GaugeValue => ({
      metric: jobs,
      labels: { queue, state },
      value: counts[state],
    }))
    return byState.concat({ metric: oldest, labels: { queue }, value: counts.oldestMs / 1_000 })
  })
  return (await Promise.all(gauges)).flat()
}
