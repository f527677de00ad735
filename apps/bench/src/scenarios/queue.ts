import { createLimiter, slidingWindow } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { limitedQueue, work } from '@sluice/queue'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { interleave, type Sample } from '../measure/rounds.ts'
import { statsOf } from '../traffic/command-stats.ts'
import { tenantId } from '../traffic/population.ts'

const WAITING = [1_000, 100_000, 1_000_000]
const TENANTS = 1_000
type Client = Bench['servers']['redis']

/** The jobs of one sample. */
const JOBS = 200

/** The time in Redis of a job's life, and its memory, as more jobs wait. */
export const queueScenario: Scenario = {
  name: 'queue',
  title: 'what a job of a queue costs Redis',

  async run(bench) {
    const client = bench.servers.redis.duplicate({ maxRetriesPerRequest: 0 })
    const samples: Record<string, Sample> = {}
    const rows: Row[] = []
    for (const waiting of WAITING) {
      const queue = openQueue(client, `queue-${waiting}`)
      await queue.add(waiting)
      const keys = await client.keys(`queue-${waiting}:*`)
      const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key)))
      const bytes = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0) / waiting
      rows.push({
        title: 'a job that waits',
        unit: 'bytes',
        at: { waiting },
        ours: { values: [bytes] },
      })
      samples[`adding a job ${waiting}`] = () => microseconds(client, () => queue.add(JOBS))
      samples[`running a job ${waiting}`] = () => microseconds(client, () => queue.run())
    }
    const values = await interleave(bench, samples)
    await client.flushall()
    client.disconnect()
    return [
      ...Object.keys(samples).map((key): Row => {
        const [, title = '', waiting] = /^(.*) (\d+)$/.exec(key) ?? []
        const at = { waiting: Number(waiting) }
        return { title, unit: 'µs', at, ours: { values: values[key] ?? [] } }
      }),
      ...rows,
    ]
  },
}

function openQueue(client: Client, prefix: string) {
  const limiter = createLimiter({
    store: redis({ client, prefix, timeoutMs: 30_000 }),
    // Takes no part: only what the queue itself does is measured.
    policies: [
      slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'], routes: ['other'] }),
    ],
  })
  const queue = limitedQueue(limiter, { name: 'jobs', maxJobs: 2_000_000 })
  const payload = { document: 'x'.repeat(200) }
  let added = 0
  return {
    async add(count: number): Promise<void> {
      for (let done = 0; done < count; done += 10_000) {
        const jobs = Array.from({ length: Math.min(10_000, count - done) }, () => {
          added += 1
          return { data: payload, subject: { tenant: tenantId(added % TENANTS) } }
        })
        await queue.addAll(jobs)
      }
    },
    async run(): Promise<void> {
      let count = 0
      const enough = new AbortController()
      const handle = (): void => {
        count += 1
        if (count === JOBS) enough.abort()
      }
      await work(queue, handle, { concurrency: 25, signal: enough.signal }).ended
    },
  }
}

/** Returns the microseconds in Redis for each of `JOBS` jobs. */
async function microseconds(client: Client, act: () => Promise<void>): Promise<number> {
  const stats = await statsOf(client, act)
  return (stats.get('evalsha')?.usec ?? Number.NaN) / JOBS
}
