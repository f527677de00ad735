/* Metrics of queues, waiting lines and adaptive limits, beside the ledger of whoever used them; on a real Redis. */
import {
  createLimiter,
  manualClock,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { adaptiveLimit } from '@sluice/core/upstream'
import { waitFor, waitingLine, type Waited } from '@sluice/core/waiting'
import { queueMetrics, telemetry } from '@sluice/otel'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { countJobs, failedJobs, JobError, limitedQueue, work } from '@sluice/queue'
import { describe, expect, it } from 'vitest'
import { keysUnder } from '../support/redis.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { NOON } from '../support/times.ts'
import { startSdk } from './support.ts'

const own = ownRedisOverHttp()

/** The samples of a limiter's metrics, by their names and labels without the prefix: `jobs_total outcome=done`. */
async function samplesOf(
  limiter: Limiter,
  options?: Parameters<typeof metricsText>[1],
): Promise<ReadonlyMap<string, number>> {
  const text = await metricsText(limiter, options)
  const samples = text.split('\n').flatMap((line): [string, number][] => {
    const [, name = '', labels = '', value] = /^(\w+?)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    const short = labels
      .replaceAll(/rate_limiter_|"/g, '')
      .split(',')
      .toSorted()
      .join(' ')
    return value ? [[`${name.replace('rate_limiter_', '')} ${short}`.trim(), Number(value)]] : []
  })
  return new Map(samples)
}

/** The sum of the samples whose name and labels have all these parts. */
function sumOf(samples: ReadonlyMap<string, number>, ...parts: readonly string[]): number {
  const found = [...samples].filter(([name]) => parts.every((part) => name.includes(part)))
  return found.reduce((sum, [, value]) => sum + value, 0)
}

const bucket = (name: string, limit: number, window: '1s' | '1m') =>
  waitingLine(tokenBucket({ name, limit, window, burst: 1, per: ['tenant'] }), { maxWaiting: 5 })

/** The tickets of all lines, as Redis has them. */
async function ticketsUnder(prefix: string): Promise<number> {
  const keys = (await keysUnder(own.redis, prefix)).filter((key) => key.includes('.line'))
  const lines = await Promise.all(keys.map((key) => own.redis.get(key)))
  return lines.reduce((sum, line) => sum + (line?.match(/;/g)?.length ?? 0), 0)
}

const ignore = (): void => {}

describe('a queue', () => {
  const tpm = slidingWindow({ name: 'tpm', limit: 1e6, window: '1h', per: ['tenant'] })
  const TENANTS = ['acme', 'globex', 'initech']

  it('counts attempts, ends and waits as its handlers and the store do, over two workers', async () => {
    const store = own.store()
    const open = () => {
      const extensions = [prometheus({ name: 'ledger', tenants: ['acme'] })]
      const limiter = createLimiter({ store, policies: [tpm], extensions })
      const options = { name: 'q', parse: Number, attempts: 3, backoff: '1ms' } as const
      return { limiter, queue: limitedQueue(limiter, options) }
    }
    const [one, two] = [open(), open()]
    const all = Array.from({ length: 60 }, (_, n) => n)
    await one.queue.addAll(
      all.map((n) => ({ data: n, subject: { tenant: TENANTS[n % 3] as string } })),
    )
    const ledger = { begun: 0, done: 0, begunByAcme: 0, retried: 0 }
    const handle = ({ data: n, attempt }: { data: number; attempt: number }): void => {
      ledger.begun += 1
      if (n % 3 === 0) ledger.begunByAcme += 1
      if (n % 10 === 0) throw new JobError('never', { retry: false })
      if (n % 4 === 1 && attempt === 1) {
        ledger.retried += 1
        throw new Error('once')
      }
      ledger.done += 1
    }
    const workers = [one, two].map(({ queue }) => work(queue, handle, { onFailed: ignore }))
    const isOver = async () => {
      const { waiting, delayed, running } = await countJobs(one.queue)
      return waiting + delayed + running
    }
    await expect.poll(isOver, { timeout: 60_000 }).toBe(0)
    await Promise.all(workers.map((worker) => worker.stop()))

    const samples = await samplesOf(one.limiter)
    const jobs = (outcome: string, ...more: readonly string[]) =>
      sumOf(samples, 'jobs_total', 'queue=q', `outcome=${outcome}`, ...more)
    expect({
      begun: jobs('begun'),
      done: jobs('done'),
      begunByAcme: jobs('begun', 'tenant=acme'),
      retried: jobs('retried'),
    }).toEqual(ledger)
    expect(jobs('failed')).toBe((await failedJobs(one.queue)).length)
    expect(jobs('done') + jobs('failed')).toBe(all.length)
    expect(sumOf(samples, 'job_wait_seconds_count')).toBe(all.length)
    expect([...samples.keys()].join()).not.toContain('globex')
  })

  it.each<[string, () => Store]>([
    ['memory', () => memory()],
    ['Redis', () => own.store()],
  ])('in %s reports its length and the age of the oldest job, at each scrape', async (_, store) => {
    const sdk = startSdk()
    const clock = manualClock(NOON)
    const extensions = [prometheus()]
    const limiter = createLimiter({ store: store(), policies: [tpm], clock, extensions })
    const queue = limitedQueue(limiter, { name: 'q' })
    const count = () => countJobs(queue)
    expect(await count()).toMatchObject({ waiting: 0, oldestMs: 0 })
    // The oldest is behind hundreds of more urgent jobs of its own line, and of others.
    await queue.add(0, { subject: { tenant: 'm' }, priority: 9 })
    clock.advance(7_000)
    const later = ['a', 'm', 'z'].flatMap((tenant) =>
      Array.from({ length: 250 }, () => ({ data: 1, subject: { tenant }, priority: 1 })),
    )
    await queue.addAll(later)
    await queue.add(0, { subject: { tenant: 'a' }, delay: '1h' })
    clock.advance(3_000)
    const samples = await samplesOf(limiter, { queues: { q: count } })
    expect(Object.fromEntries([...samples].filter(([name]) => name.includes('queue')))).toEqual({
      'queue_jobs queue=q state=waiting': 751,
      'queue_jobs queue=q state=delayed': 1,
      'queue_jobs queue=q state=running': 0,
      'queue_jobs queue=q state=failed': 0,
      'queue_oldest_seconds queue=q': 10,
    })
    queueMetrics({ q: count }, { meterProvider: sdk.meterProvider })
    expect(await sdk.counts('rate_limiter.queue.jobs')).toMatchObject({
      'queue=q state=waiting': 751,
    })
    expect(await sdk.counts('rate_limiter.queue.oldest')).toEqual({ 'queue=q': 10 })
    await sdk.stop()
  })

  it('that cannot be counted is left out, and the other metrics are there', async () => {
    const limiter = createLimiter({ store: memory(), policies: [tpm], extensions: [prometheus()] })
    await limiter.check({ tenant: 'acme' })
    const queues = { q: () => Promise.reject(new Error('down')) }
    const samples = await samplesOf(limiter, { queues })
    expect(sumOf(samples, 'queue')).toBe(0)
    expect(sumOf(samples, 'decisions_total')).toBe(1)
  })
})

describe('a waiting line', () => {
  it('counts who waits as the store does, and the ends of waits as those who wait', async () => {
    const sdk = startSdk()
    const { meterProvider } = sdk
    const extensions = [prometheus({ tenants: ['acme'] }), telemetry({ meterProvider })]
    const policies = [bucket('slow', 1, '1m')]
    const { limiter, prefix } = own.setUp(policies, { extensions })
    const ends: Record<string, number> = {}
    const onWaited = ({ outcome }: Waited): void => {
      ends[outcome] = (ends[outcome] ?? 0) + 1
    }
    const controller = new AbortController()
    const patient = waitFor(limiter, '5m', { onWaited, signal: controller.signal })
    expect(await patient.check({ tenant: 'acme' })).toMatchObject({ allowed: true })
    // Four wait for minutes, and one more for less time than that.
    const waits = Array.from({ length: 4 }, () => patient.check({ tenant: 'acme' }))
    const length = async (): Promise<number> => {
      const samples = await samplesOf(limiter)
      return sumOf(samples, 'waits_begun_total') - sumOf(samples, 'wait_duration_seconds_count')
    }
    await expect.poll(() => ticketsUnder(prefix), { timeout: 30_000 }).toBe(4)
    expect(await length()).toBe(4)
    await waitFor(limiter, '1s', { onWaited }).check({ tenant: 'acme' })
    expect(await length()).toBe(await ticketsUnder(prefix))
    controller.abort()
    await Promise.all(waits)
    expect(await ticketsUnder(prefix)).toBe(0)
    expect(await length()).toBe(0)
    const samples = await samplesOf(limiter)
    expect(ends).toEqual({ denied: 1, aborted: 4 })
    for (const [outcome, count] of Object.entries(ends)) {
      const labels = [`outcome=${outcome}`, 'policy=slow', 'tenant=acme']
      expect(sumOf(samples, 'wait_duration_seconds_count', ...labels)).toBe(count)
    }
    expect(await sdk.counts('rate_limiter.waits.begun')).toEqual({ 'policy=slow': 5 })
    await sdk.stop()
  })

  it('counts those who are let in, with the time that they waited', async () => {
    const { limiter } = own.setUp([bucket('fast', 5, '1s')], { extensions: [prometheus()] })
    let waitedMs = 0
    const onWaited = (waited: Waited): void => {
      waitedMs += waited.waitedMs
    }
    const patient = waitFor(limiter, '1m', { onWaited })
    const checks = Array.from({ length: 4 }, () => patient.check({ tenant: 'acme' }))
    expect((await Promise.all(checks)).map(({ allowed }) => allowed)).toEqual(
      checks.map(() => true),
    )
    const samples = await samplesOf(limiter)
    expect(sumOf(samples, 'wait_duration_seconds_count', 'outcome=allowed')).toBe(
      sumOf(samples, 'waits_begun_total'),
    )
    expect(sumOf(samples, 'wait_duration_seconds_sum')).toBeCloseTo(waitedMs / 1_000, 6)
    expect(waitedMs).toBeGreaterThan(0)
  })
})

it('an adaptive limit is shown as it is now, not as it is in the code', async () => {
  const sdk = startSdk()
  const model = adaptiveLimit({ policy: 'calls', min: 4 })
  const limiter = createLimiter({
    store: own.store(),
    policies: [slidingWindow({ name: 'calls', limit: 200, window: '1s', per: 'global' })],
    extensions: [model, prometheus(), telemetry({ meterProvider: sdk.meterProvider })],
  })
  await limiter.check({})
  expect(model.limit).toBe(4)
  expect(await sdk.counts('rate_limiter.limit')).toEqual({ 'policy=calls': 4 })
  const unasked = await samplesOf(limiter)
  expect(unasked.get('limit policy=calls')).toBe(4)
  expect(unasked.get('limit_max policy=calls')).toBe(200)
  const samples = await samplesOf(limiter, { budgets: [{}] })
  expect(samples.get('limit policy=calls')).toBe(4)
  expect(samples.get('budget_used_ratio policy=calls')).toBeGreaterThan(0)
  await sdk.stop()
})
