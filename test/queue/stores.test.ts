import { concurrency, createLimiter, slidingWindow, type Store } from '@sluice/core'
import {
  countJobs,
  failedJobs,
  JobError,
  limitedQueue,
  removeJobs,
  retryJobs,
  work,
  type Job,
} from '@sluice/queue'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../support/stores.ts'

const limiterOn = (store: Store, limit = 1_000, inFlight = 100) =>
  createLimiter({
    store,
    policies: [
      slidingWindow({ name: 'tokens', limit, window: '1h', per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: inFlight, per: ['tenant'] }),
    ],
  })

const parse = (data: unknown): { readonly n: number } => data as { n: number }
/** As `parse`, for jobs that are not negative. */
function strict(data: unknown): { readonly n: number } {
  if (parse(data).n < 0) throw new Error('n is negative')
  return parse(data)
}

const acme = { tenant: 'acme' }

const ignore = (): void => {}

/** Runs what can run now, and ends. */
const drain = (...[queue, handle, options]: Parameters<typeof work<{ n: number }, string>>) =>
  work(queue, handle, { untilIdle: true, ...options }).ended

/** An object holds what one tenant has; a queue is of all tenants. */
const isOfTenant = (name: string): boolean => name.startsWith('durable objects')

describe.each(STORES_TO_TEST.filter((name) => !isOfTenant(name)))('a queue in %s', (name) => {
  const store = storesOf(name)
  const queueOn = (limiter = limiterOn(store()), options = {}) =>
    limitedQueue(limiter, { name: 'q', parse, ...options })

  it('runs each job once, and charges what its handler says', async () => {
    const limiter = limiterOn(store())
    const queue = queueOn(limiter)
    const ran: Job<{ n: number }>[] = []
    const cost = { token: 10 }
    const added = await queue.addAll([1, 2, 3].map((n) => ({ data: { n }, subject: acme, cost })))
    expect(added.every(({ isNew }) => isNew)).toBe(true)
    await drain(queue, (job) => {
      ran.push(job)
      return { token: 4 }
    })
    expect(ran.map(({ data, attempt, cost: own }) => [data.n, attempt, own])).toEqual(
      [1, 2, 3].map((n) => [n, 1, cost]),
    )
    expect(await countJobs(queue)).toEqual({
      waiting: 0,
      delayed: 0,
      running: 0,
      failed: 0,
      oldestMs: 0,
    })
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([988, 100])
  })

  it('waits while the limit has no room, and adds nothing to it meanwhile', async () => {
    const limiter = limiterOn(store(), 10)
    const queue = queueOn(limiter)
    for (const n of [1, 2]) await queue.add({ n }, { subject: acme, cost: { token: 6 } })
    await queue.add({ n: 3 }, { subject: { tenant: 'globex' }, cost: { token: 6 } })
    const ran: number[] = []
    await drain(queue, ({ data }) => void ran.push(data.n))
    expect(new Set(ran)).toEqual(new Set([1, 3]))
    expect(await countJobs(queue)).toMatchObject({ waiting: 1 })
    await limiter.reset(acme)
  })

  it('charges a job once, however often it fails', async () => {
    const limiter = limiterOn(store())
    const queue = queueOn(limiter, { backoff: '1ms' })
    await queue.add({ n: 1 }, { subject: acme, cost: { token: 10 } })
    const attempts: number[] = []
    const used: number[] = []
    const worker = work(queue, async ({ attempt }) => {
      attempts.push(attempt)
      const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
      used.push(1_000 - (policies[0]?.remaining ?? 0))
      if (attempt < 4) throw new Error('no luck')
      return { token: 7 }
    })
    await expect.poll(() => attempts).toEqual([1, 2, 3, 4])
    await worker.stop()
    expect(used).toEqual([10, 10, 10, 10])
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([993, 100])
  })

  it('charges what a failed attempt says that it has used, and the next on its own', async () => {
    const limiter = limiterOn(store())
    const queue = queueOn(limiter)
    await queue.add({ n: 1 }, { subject: acme, cost: { token: 10 } })
    const worker = work(queue, ({ attempt }) => {
      if (attempt === 1) throw new JobError('cut off', { retry: '1ms', used: { token: 3 } })
      return { token: 4 }
    })
    await expect.poll(() => countJobs(queue)).toMatchObject({ delayed: 0, running: 0 })
    await worker.stop()
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    expect(policies[0]?.remaining).toBe(993)
  })

  it('keeps what has failed for good, and runs it again when told', async () => {
    const queue = queueOn(undefined, { attempts: 2, backoff: '1ms' })
    const { id } = await queue.add({ n: 1 }, { subject: acme, cost: { token: 1 } })
    const failed: string[] = []
    const onFailed = (job: string) => void failed.push(job)
    const worker = work(queue, () => Promise.reject(new Error('never')), { onFailed })
    await expect.poll(() => failed).toEqual([id])
    await worker.stop()
    const [job] = await failedJobs(queue)
    expect(job).toMatchObject({ id, data: { n: 1 }, subject: acme, attempts: 2, why: 'failed' })
    expect(job?.error).toBe('never')
    expect(await queue.add({ n: 1 }, { subject: acme, cost: { token: 1 }, id })).toEqual({
      id,
      isNew: false,
    })
    expect(await retryJobs(queue, [id])).toBe(1)
    await drain(queue, () => {})
    expect(await countJobs(queue)).toMatchObject({ waiting: 0, failed: 0 })
  })

  it('fails a job at once whose data is not readable, that never fits, or that says so', async () => {
    const limiter = limiterOn(store())
    const loose = limitedQueue(limiter, { name: 'q' })
    const queue = limitedQueue(limiter, { name: 'q', parse: strict })
    await expect(queue.add({ n: -1 }, { subject: acme, cost: { token: 1 } })).rejects.toThrow(
      'n is negative',
    )
    await loose.add({ n: -1 }, { subject: acme, cost: { token: 1 } })
    await queue.add({ n: 2 }, { subject: acme, cost: { token: 1_001 } })
    await queue.add({ n: 3 }, { subject: acme, cost: { token: 1 } })
    await drain(
      queue,
      () => {
        throw new JobError('no', { retry: false })
      },
      { onFailed: ignore },
    )
    const failed = await failedJobs(queue)
    // Those of one millisecond have no order.
    expect(failed.map(({ attempts }) => attempts)).toEqual([1, 1, 1])
    const errors = failed.map(({ error }) => error)
    const texts = ['n is negative', 'no', expect.stringContaining('"tokens"')]
    expect(errors).toEqual(expect.arrayContaining(texts))
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([999, 100])
  })

  it('removes jobs, runs the first priority first, and delays', async () => {
    const queue = queueOn()
    const options = { subject: acme, cost: { token: 1 } }
    const removed = await queue.add({ n: 0 }, options)
    await queue.add({ n: 3 }, options)
    await queue.add({ n: 2 }, { ...options, priority: 4 })
    await queue.add({ n: 1 }, { ...options, priority: 0 })
    await queue.add({ n: 4 }, { ...options, delay: '1h' })
    expect(await removeJobs(queue, [removed.id, 'nobody'])).toBe(1)
    const ran: number[] = []
    await drain(queue, ({ data }) => void ran.push(data.n))
    expect(ran).toEqual([1, 2, 3])
    expect(await countJobs(queue)).toMatchObject({ waiting: 0, delayed: 1 })
  })

  it('has no more calls in flight than the limit, over several workers', async () => {
    const limiter = limiterOn(store(), 1_000, 3)
    const queue = queueOn(limiter)
    const jobs = Array.from({ length: 12 }, (_, n) => {
      return { data: { n }, subject: acme, cost: { token: 1 } }
    })
    await queue.addAll(jobs)
    let [now, most, done] = [0, 0, 0]
    // The first calls last until there are three, so a busy machine cannot keep them apart.
    let tellThree: (() => void) | undefined
    const three = new Promise<void>((resolve) => {
      tellThree = resolve
    })
    const handle = async () => {
      now += 1
      most = Math.max(most, now)
      if (now === 3) tellThree?.()
      await three
      await new Promise((resolve) => setTimeout(resolve, 30))
      now -= 1
      done += 1
    }
    const workers = [1, 2].map(() => work(queue, handle))
    await expect.poll(() => done, { timeout: 20_000 }).toBe(12)
    await Promise.all(workers.map((worker) => worker.stop()))
    expect(most).toBe(3)
  })

  it('ends as soon as its jobs have ended', async () => {
    const queue = queueOn()
    const cost = { token: 1 }
    await queue.addAll([1, 2, 3].map((n) => ({ data: { n }, subject: acme, cost })))
    const stopped: Promise<void>[] = []
    const worker = work(queue, () => void stopped.push(worker.stop({ timeout: '1h' })))
    await worker.ended
    await Promise.all(stopped)
    expect(stopped.length).toBeGreaterThan(0)
    expect(await countJobs(queue)).toMatchObject({ waiting: 3 - stopped.length, running: 0 })
  })

  it('gives a job back when its worker stops, and charges it once', async () => {
    const limiter = limiterOn(store())
    const queue = queueOn(limiter)
    await queue.add({ n: 1 }, { subject: acme, cost: { token: 10 } })
    const reasons: unknown[] = []
    let hasBegun = false
    const worker = work(
      queue,
      ({ signal }) =>
        new Promise((_, reject) => {
          hasBegun = true
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason)
            reject(signal.reason as Error)
          })
        }),
    )
    await expect.poll(() => hasBegun).toBe(true)
    await worker.stop({ timeout: '1ms' })
    expect(reasons).toHaveLength(1)
    expect(await countJobs(queue)).toMatchObject({ waiting: 1, running: 0 })
    const attempts: number[] = []
    // Its units stay charged, its slot is free.
    const held = await limiter.peek(acme, { cost: { token: 0 } })
    expect(held.policies.map(({ remaining }) => remaining)).toEqual([990, 100])
    await drain(queue, ({ attempt }) => {
      attempts.push(attempt)
      return { token: 5 }
    })
    expect(attempts).toEqual([1])
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([995, 100])
  })
})
