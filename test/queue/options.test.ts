import { createLimiter, slidingWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import {
  countJobs,
  failedJobs,
  JobError,
  limitedQueue,
  removeJobs,
  retryJobs,
  work,
} from '@sluice/queue'
import { limitedProcessor } from '@sluice/queue/bullmq'
import { describe, expect, it } from 'vitest'
import { mistakesAreNamed } from '../support/mistakes.ts'

const limiter = createLimiter({
  store: memory(),
  policies: [
    slidingWindow({ name: 'tpm', limit: 100, window: '1m', per: ['tenant'], unit: 'token' }),
  ],
})
const make =
  (options: object, of: unknown = limiter) =>
  () =>
    limitedQueue(of as Limiter, { name: 'q', ...options })
const queue = limitedQueue(limiter, { name: 'q', maxJobs: 3 })
const handle = () => {}
const processor = (options: object) => () =>
  limitedProcessor(limiter, options as never, async () => {})
const add = (options: object) => queue.add(1, { ...good, ...options })
const acme = { tenant: 'acme' }
const cost = { token: 1 }
const good = { subject: acme, cost }

describe('limitedQueue: a mistake in the options is an error at construction', () => {
  mistakesAreNamed([
    ['no limiter', make({}, {}), 'limiter'],
    ['an unknown option', make({ wieght: () => 1 }), 'limitedQueue.wieght', 'unknown_option'],
    ['no name', make({ name: undefined }), 'limitedQueue.name'],
    ['a name with a colon', make({ name: 'a:b' }), 'limitedQueue.name'],
    ['no dimension', make({ between: [] }), 'limitedQueue.between'],
    ['a weight that is no function', make({ weight: 2 }), 'limitedQueue.weight'],
    ['a unit that no policy counts', make({ measure: 'usd' }), 'limitedQueue.measure'],
    ['a parser that is none', make({ parse: {} }), 'limitedQueue.parse'],
    ['no attempt', make({ attempts: 0 }), 'limitedQueue.attempts'],
    ['a backoff of 0', make({ backoff: 0 }), 'limitedQueue.backoff', 'invalid_duration'],
    ['a lease of a second', make({ lease: '1s' }), 'limitedQueue.lease'],
    ['no job', make({ maxJobs: 0 }), 'limitedQueue.maxJobs'],
  ])
})

describe('work and limitedProcessor: a mistake is an error at once', () => {
  mistakesAreNamed([
    ['another object', () => void work({ ...queue }, handle), 'queue'],
    ['no handler', () => void work(queue, undefined as never), 'work.handle'],
    [
      'a signal that is none',
      () => void work(queue, handle, { signal: 5 as never }),
      'work.signal',
    ],
    ['no truth', () => void work(queue, handle, { untilIdle: 'yes' as never }), 'work.untilIdle'],
    ['no job at a time', () => void work(queue, handle, { concurrency: 0 }), 'work.concurrency'],
    [
      'an unknown option',
      () => void work(queue, handle, { concurency: 2 } as never),
      'work.concurency',
      'unknown_option',
    ],
    ['no subject', processor({}), 'limitedProcessor.subject'],
    ['a cost that is none', processor({ subject: () => acme, cost: 3 }), 'limitedProcessor.cost'],
    [
      'a time that is none',
      () => new JobError('no', { retry: '5x' as never }),
      'JobError.retry',
      'invalid_duration',
    ],
  ])
})

describe('a job that is malformed is refused, and not added:', () => {
  const cyclic: Record<string, unknown> = {}
  cyclic['self'] = cyclic
  it.each<[string, unknown, object, string, string]>([
    ['no data', undefined, good, 'invalid_job', 'data'],
    ['a cycle', cyclic, good, 'invalid_job', 'data'],
    ['a function', () => 1, good, 'invalid_job', 'data'],
    ['above 64 kB', 'é'.repeat(33_000), good, 'invalid_job', 'data'],
    ['an id with a space', 1, { ...good, id: 'a b' }, 'invalid_job', 'id'],
    [
      'a wait that is over before its delay',
      1,
      { ...good, delay: '1m', waitAtMost: '1m' },
      'invalid_job',
      'waitAtMost',
    ],
    ['a priority of 10', 1, { ...good, priority: 10 }, 'invalid_job', 'priority'],
    ['no subject', 1, { cost }, 'invalid_subject', 'subject'],
    ['no tenant', 1, { ...good, subject: { user: 'u' } }, 'missing_dimension', 'subject.tenant'],
    [
      'half a character',
      1,
      { ...good, subject: { tenant: '\ud800' } },
      'invalid_subject',
      'subject',
    ],
    ['no cost', 1, { subject: acme }, 'invalid_cost', 'cost.token'],
    ['a cost of another unit', 1, { ...good, cost: { usd: 1 } }, 'invalid_cost', 'cost'],
  ])('%s', async (_, data, options, code, input) => {
    await expect(queue.add(data, options as never)).rejects.toMatchObject({ code, input })
    expect(await countJobs(queue)).toMatchObject({ waiting: 0, delayed: 0 })
  })

  it('an unknown option, or a delay that is none', async () => {
    await expect(add({ dealy: '1s' })).rejects.toMatchObject({ option: 'job.dealy' })
    await expect(add({ delay: 5 })).rejects.toMatchObject({ option: 'delay' })
    await expect(add({ waitAtMost: 'soon' })).rejects.toMatchObject({ option: 'waitAtMost' })
  })

  it('one of more than maxJobs', async () => {
    const jobs = [1, 2, 3, 4].map((data) => ({ data, subject: acme, cost, id: `job-${data}` }))
    await expect(queue.addAll(jobs)).rejects.toMatchObject({ code: 'queue_full' })
    expect(await countJobs(queue)).toMatchObject({ waiting: 3 })
    // A job that is there is known, not refused.
    expect(await queue.add(1, { ...good, id: 'job-1' })).toEqual({ id: 'job-1', isNew: false })
    await work(queue, () => {}, { untilIdle: true }).ended
  })
})

it('what is no list of ids removes and retries nothing', async () => {
  await queue.addAll(['a', 'b'].map((id) => ({ data: id, subject: acme, cost, id })))
  for (const ids of ['ab', undefined, [5]] as never[]) {
    await expect(removeJobs(queue, ids)).rejects.toMatchObject({ option: 'removeJobs.ids' })
    await expect(retryJobs(queue, ids)).rejects.toMatchObject({ option: 'retryJobs.ids' })
  }
  const unknown = failedJobs(queue, { limit: 5 } as never)
  await expect(unknown).rejects.toMatchObject({ option: 'failedJobs.limit' })
  await expect(failedJobs(queue, { from: -1 })).rejects.toMatchObject({ option: 'failedJobs.from' })
  expect(await removeJobs(queue, ['a', 'b'])).toBe(2)
})

it('nothing is added if one of several is malformed', async () => {
  const jobs = [1, -1].map((token) => ({ data: 1, subject: acme, cost: { token } }))
  await expect(queue.addAll(jobs)).rejects.toMatchObject({ code: 'invalid_cost' })
  await expect(queue.addAll({} as never)).rejects.toMatchObject({ code: 'invalid_job' })
  expect(await countJobs(queue)).toMatchObject({ waiting: 0 })
})

it('names of tenants are what they are', async () => {
  const names = ['a|b', 'a:b', '{a}', ' ', '😀', '__proto__', 'a~', 'a', 'x'.repeat(300)]
  const odd = limitedQueue(limiter, { name: 'odd' })
  await odd.addAll(names.map((tenant) => ({ data: tenant, subject: { tenant }, cost })))
  const ran: unknown[] = []
  await work(odd, ({ data, subject }) => void ran.push([data, subject]), { untilIdle: true }).ended
  expect(ran).toHaveLength(names.length)
  expect(ran).toEqual(expect.arrayContaining(names.map((tenant) => [tenant, { tenant }])))
  expect(await failedJobs(odd)).toEqual([])
})
