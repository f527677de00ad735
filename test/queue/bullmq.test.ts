import { concurrency, createLimiter, dailyCap, slidingWindow, type Limiter } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { limitedProcessor } from '@sluice/queue/bullmq'
import { Queue, Worker, type Job } from 'bullmq'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { freshPrefix } from '../support/stores.ts'

interface Data {
  readonly tenant: string
  readonly n: number
}

function setUp(window: `${number}s`, limit: number) {
  const url = inject('redisUrl')
  const client = new Redis(url, { maxRetriesPerRequest: 0 })
  const limiter = createLimiter({
    store: redis({ client, prefix: freshPrefix(), timeoutMs: 30_000 }),
    policies: [
      slidingWindow({ name: 'rate', limit, window, per: ['tenant'] }),
      dailyCap({ name: 'tokens', limit: 1_000, per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: 5, per: ['tenant'] }),
    ],
  })
  const connection = { url, maxRetriesPerRequest: null }
  const name = freshPrefix()
  const queue = new Queue<Data, { used: number }>(name, { connection })
  onTestFinished(async () => {
    await queue.obliterate({ force: true })
    await queue.close()
    client.disconnect()
  })
  return { limiter, queue, name, connection }
}

const options = {
  subject: ({ data }: Job<Data>) => ({ tenant: data.tenant }),
  cost: () => ({ token: 10 }),
  used: ({ used }: { used: number }) => ({ token: used }),
}

async function left(limiter: Limiter): Promise<number[]> {
  const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { token: 0 } })
  return policies.slice(1).map(({ remaining }) => remaining)
}

describe('a processor of BullMQ', () => {
  it('delays what is denied, which is no attempt, and charges what was used', async () => {
    const { limiter, queue, name, connection } = setUp('2s', 2)
    const begun: number[] = []
    const processor = limitedProcessor<Data, { used: number }>(limiter, options, async () => {
      begun.push(Date.now())
      return { used: 4 }
    })
    for (const n of [1, 2, 3, 4, 5]) await queue.add('job', { tenant: 'acme', n })
    const worker = new Worker<Data, { used: number }>(name, processor, {
      connection,
      concurrency: 5,
    })
    const attempts: number[] = []
    const done = new Promise<void>((resolve) => {
      worker.on('completed', (job) => {
        attempts.push(job.attemptsMade)
        if (attempts.length === 5) resolve()
      })
    })
    await done
    await worker.close()
    expect(attempts).toEqual([1, 1, 1, 1, 1])
    // Two in any two seconds. A handler begins a little after its charge.
    expect((begun[2] ?? 0) - (begun[0] ?? 0)).toBeGreaterThan(1_500)
    expect((begun[4] ?? 0) - (begun[2] ?? 0)).toBeGreaterThan(1_500)
    expect(await left(limiter)).toEqual([980, 5])
  })

  it('charges a job once, however often it fails', async () => {
    const { limiter, queue, name, connection } = setUp('60s', 100)
    const used: number[][] = []
    const processor = limitedProcessor<Data, { used: number }>(limiter, options, async (job) => {
      used.push(await left(limiter))
      if (job.attemptsMade < 2) throw new Error('no luck')
      return { used: 7 }
    })
    await queue.add('job', { tenant: 'acme', n: 1 }, { attempts: 3 })
    const worker = new Worker<Data, { used: number }>(name, processor, { connection })
    await new Promise((resolve) => {
      worker.on('completed', resolve)
    })
    await worker.close()
    expect(used).toEqual([
      [990, 4],
      [990, 4],
      [990, 4],
    ])
    expect(await left(limiter)).toEqual([993, 5])
  })

  it('fails a job that never fits at once', async () => {
    const { limiter, queue, name, connection } = setUp('60s', 100)
    const processor = limitedProcessor<Data, { used: number }>(
      limiter,
      { ...options, cost: () => ({ token: 1_001 }) },
      async () => ({ used: 1 }),
    )
    await queue.add('job', { tenant: 'acme', n: 1 }, { attempts: 3 })
    const worker = new Worker<Data, { used: number }>(name, processor, { connection })
    const [job, error] = await new Promise<[Job | undefined, Error]>((resolve) => {
      worker.on('failed', (...args) => resolve([args[0], args[1]]))
    })
    await worker.close()
    expect(job?.attemptsMade).toBe(1)
    expect(error.message).toContain('"tokens"')
    expect(await left(limiter)).toEqual([1_000, 5])
  })

  it.each<[string, () => unknown]>([
    ['is no cost', () => ({ token: -1 })],
    [
      'throws',
      () => {
        throw new Error('there is no usage')
      },
    ],
  ])('charges the estimate if `used` %s, and its call in flight is over', async (_, used) => {
    const { limiter, queue, name, connection } = setUp('60s', 100)
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const own = { ...options, used: used as () => { token: number } }
    const processor = limitedProcessor<Data, { used: number }>(limiter, own, async () => ({
      used: 7,
    }))
    await queue.add('job', { tenant: 'acme', n: 1 }, { attempts: 3 })
    const worker = new Worker<Data, { used: number }>(name, processor, { connection })
    const job = await new Promise<Job>((resolve) => {
      worker.on('completed', resolve)
    })
    await worker.close()
    expect(job.attemptsMade).toBe(1)
    expect(await left(limiter)).toEqual([990, 5])
    expect(log).toHaveBeenCalledOnce()
    log.mockRestore()
  })

  it('does not begin a job that was cancelled while it was delayed, and frees its call', async () => {
    const { limiter } = setUp('60s', 100)
    const processor = limitedProcessor<Data, { used: number }>(limiter, options, async () => {
      throw new Error('it has begun')
    })
    const job = { queueName: 'q', id: '1', data: { tenant: 'acme' }, attemptsStarted: 1 }
    const cancelled = AbortSignal.abort(new Error('cancelled'))
    const facts = { ...job, attemptsMade: 0, stalledCounter: 0 }
    await expect(processor(facts as never, 'token', cancelled)).rejects.toThrow('cancelled')
    expect(await left(limiter)).toEqual([990, 5])
  })
})
