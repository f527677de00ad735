import { concurrency, createLimiter, dailyCap } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { countJobs, failedJobs, JobError, limitedQueue, retryJobs, work } from '@sluice/queue'
import { describe, expect, it, vi } from 'vitest'
import { collectProblems } from '../support/limiters.ts'
import { PATIENTLY } from '../support/patience.ts'

const acme = { tenant: 'acme' }

function setUp(options: object = {}) {
  const { problems, listener } = collectProblems()
  const limiter = createLimiter({
    store: memory(),
    policies: [
      dailyCap({ name: 'daily', limit: 100, per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: 5, per: ['tenant'] }),
    ],
    extensions: [listener],
  })
  const queue = limitedQueue(limiter, { name: 'q', backoff: '1ms', ...options })
  const add = () => queue.add('data', { subject: acme, cost: { token: 10 } })
  const left = async () => {
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { queue, add, left, problems }
}

/** Runs jobs until so many have failed for good. */
async function failing(
  queue: Parameters<typeof work>[0],
  handle: Parameters<typeof work>[1],
): Promise<void> {
  let worker: ReturnType<typeof work> | undefined
  await new Promise<void>((resolve) => {
    worker = work(queue, handle, { onFailed: () => resolve() })
  })
  await worker?.stop()
}

describe('a job whose handler throws', () => {
  it.each<[string, unknown, string]>([
    ['an error', new Error('no'), 'no'],
    ['a text', 'no', 'no'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object without a prototype', Object.create(null), 'an error that cannot be shown'],
    [
      'an error whose message throws',
      Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw new Error('hidden')
        },
      }),
      'an error that cannot be shown',
    ],
  ])('%s fails after its attempts, charged once', async (_, thrown, error) => {
    const { queue, add, left } = setUp({ attempts: 2 })
    await add()
    await failing(queue, () => {
      throw thrown
    })
    expect(await failedJobs(queue)).toMatchObject([{ attempts: 2, why: 'failed', error }])
    expect(await left()).toEqual([90, 5])
  })

  it.each<unknown>([{ token: 1.5 }, { token: -1 }, { tokn: 1 }, { token: Number.NaN }, '7', null])(
    'a JobError that says it has used %j fails after its attempts, and its estimate stays',
    async (used) => {
      const { queue, add, left, problems } = setUp({ attempts: 2 })
      await add()
      await failing(queue, () => {
        throw new JobError('cut off', { used: used as never })
      })
      expect(await failedJobs(queue)).toMatchObject([{ attempts: 2, error: 'cut off' }])
      expect(await left()).toEqual([90, 5])
      expect(problems.map(({ code }) => code)).toContain('reservation_lost')
    },
  )
})

it.each<unknown>(['done', 7n, { token: -1 }, { tokn: 1 }, { token: Number.NaN }])(
  'a handler that returns %s has run: the estimate stays charged, which is reported',
  async (answer) => {
    const { queue, add, left, problems } = setUp()
    await add()
    await work(queue, () => answer as never, { untilIdle: true }).ended
    expect(await countJobs(queue)).toMatchObject({ waiting: 0, running: 0, failed: 0 })
    expect(await left()).toEqual([90, 5])
    expect(problems.map(({ code }) => code)).toEqual(['reservation_lost'])
  },
)

const rejects = () => Promise.reject(new Error('no'))

it.each<[string, () => void]>([
  [
    'throws',
    () => {
      throw new Error('the log is full')
    },
  ],
  ['rejects', () => Promise.reject(new Error('the log is full'))],
])('a worker goes on if onFailed %s', async (_, onFailed) => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const { queue, add } = setUp({ attempts: 1 })
  await add()
  await add()
  await work(queue, rejects, { untilIdle: true, onFailed }).ended
  expect(await countJobs(queue)).toMatchObject({ waiting: 0, failed: 2 })
  expect(log.mock.calls.map(([text]) => text as string)).toEqual([
    'Sluice: onFailed has thrown:',
    'Sluice: onFailed has thrown:',
  ])
  log.mockRestore()
})

it('a worker sees at once what its process adds or retries, by any object of that queue', async () => {
  const { queue, add } = setUp({ attempts: 1 })
  let fails = true
  let ran = 0
  const handle = () => {
    ran += 1
    if (fails) throw new Error('no')
  }
  const failed: string[] = []
  const worker = work(queue, handle, { lookEvery: '1h', onFailed: (id) => void failed.push(id) })
  await vi.waitFor(
    async () => expect(await countJobs(queue)).toMatchObject({ waiting: 0 }),
    PATIENTLY,
  )
  await add()
  await vi.waitFor(() => expect(failed).toHaveLength(1), PATIENTLY)
  fails = false
  await retryJobs(queue, failed)
  await vi.waitFor(() => expect(ran).toBe(2), PATIENTLY)
  await worker.stop()
})
