import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout } from 'node:timers/promises'
import { countJobs, failedJobs, type JobCounts } from '@sluice/queue'
import { expect, it, onTestFinished } from 'vitest'
import { lastingRedis } from './lasting-redis.ts'
import { openQueue, tenantOf } from './limits.ts'

const WORKER = fileURLToPath(new URL('poisoner.ts', import.meta.url))

it(
  'a job that kills its process fails alone: those beside it run to their end',
  { timeout: 180_000 },
  async () => {
    await using server = await lastingRedis('everysec')
    const { queue, close } = openQueue(server.url, 4)
    onTestFinished(close)
    const jobs = Array.from({ length: 30 }, (_, job) => ({
      data: job,
      subject: { tenant: tenantOf(job) },
      cost: { token: 1 },
      id: `job-${job}`,
    }))
    await queue.addAll(jobs)
    let counts: JobCounts
    let crashes = 0
    do {
      const child = fork(WORKER, [server.url], { stdio: 'ignore' })
      const ended = once(child, 'exit').then(() => (crashes += 1))
      do {
        await setTimeout(100)
        counts = await countJobs(queue)
      } while (child.signalCode === null && counts.waiting + counts.running + counts.delayed > 0)
      child.kill('SIGKILL')
      await ended
    } while (counts.waiting + counts.running + counts.delayed > 0)
    expect(await failedJobs(queue)).toMatchObject([{ id: 'job-0', why: 'lost', attempts: 4 }])
    expect(counts).toMatchObject({ failed: 1 })
    expect(crashes).toBeGreaterThanOrEqual(4)
  },
)
