/* How a job waits that is denied, in each of the queues. */
import { createLimiter, dailyCap, manualClock, type Cost, type Store } from '@sluice/core'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { countJobs, limitedQueue, work } from '@sluice/queue'
import { limitedProcessor } from '@sluice/queue/bullmq'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { DelayedError, UnrecoverableError } from 'bullmq'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../support/limiters.ts'
import { HOUR, MINUTE, NOON } from '../support/times.ts'
import { message } from './messages.ts'

const CAP = 10
const UNTIL_MIDNIGHT = 12 * HOUR - MINUTE / 2

async function setUp() {
  const clock = manualClock(NOON)
  const store = memory()
  let asked = 0
  const counting: Store = {
    ...store,
    check: (request) => {
      asked += 1
      return store.check(request)
    },
    run: (operation) => store.run(operation),
    reset: (keys) => store.reset(keys),
  }
  const limiter = createLimiter({
    store: counting,
    clock,
    onStoreError: 'deny',
    policies: [
      credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' }),
      dailyCap({ name: 'daily', limit: CAP, per: ['tenant'], unit: 'token' }),
    ],
  })
  await grant(limiter, ACME, { amount: 10_000, id: 'g', at: NOON, kind: 'paid' })
  await limiter.check(ACME, { cost: { token: 1, usd: 0 } })
  asked = 0
  return { clock, limiter, hasAsked: () => asked }
}

type Parts = Awaited<ReturnType<typeof setUp>>
type Outcome = number | 'failed'

const subject = () => ACME

async function inOwnQueue({ clock, limiter, hasAsked }: Parts, cost: Cost): Promise<Outcome> {
  const queue = limitedQueue(limiter, { name: 'q' })
  const run = () =>
    work(queue, () => undefined, { untilIdle: true, onFailed: () => undefined }).ended
  await queue.add('data', { subject: ACME, cost })
  await run()
  if ((await countJobs(queue)).failed > 0) return 'failed'
  let waited = 0
  for (; hasAsked() === 1; waited += MINUTE) {
    clock.advance(MINUTE)
    await run()
  }
  return waited
}

async function inBullMQ({ limiter }: Parts, cost: Cost): Promise<Outcome> {
  const processor = limitedProcessor(limiter, { subject, cost: () => cost }, () =>
    Promise.reject(new Error('it has begun')),
  )
  let waited = 0
  const job = {
    queueName: 'q',
    id: '1',
    attemptsStarted: 1,
    attemptsMade: 0,
    stalledCounter: 0,
    moveToDelayed: async (at: number) => void (waited = at - Date.now()),
  }
  const error: unknown = await processor(job as never, 'token').catch((thrown: unknown) => thrown)
  if (error instanceof UnrecoverableError) return 'failed'
  expect(error).toBeInstanceOf(DelayedError)
  return waited
}

async function inCloudflare({ limiter }: Parts, cost: Cost): Promise<Outcome> {
  const consume = limitedConsumer<object, unknown>(limiter, { subject, cost: () => cost }, () => {})
  const denied = message('acme')
  await consume({ queue: 'jobs', messages: [denied] }, {}, {})
  return (denied.retry.mock.calls[0]?.[0]?.delaySeconds ?? 0) * 1_000
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

describe.each<
  [
    queue: string,
    run: (parts: Parts, cost: Cost) => Promise<Outcome>,
    usedUp: Outcome,
    tooLarge: Outcome,
  ]
>([
  ['this package', inOwnQueue, 5 * MINUTE, 'failed'],
  ['BullMQ', inBullMQ, 5 * MINUTE, 'failed'],
  ['Cloudflare', inCloudflare, UNTIL_MIDNIGHT, 12 * HOUR],
])('in a queue of %s, a job is tried again', (_, run, usedUp, tooLarge) => {
  it.each<[string, Cost, Outcome]>([
    ['in five minutes, if it has no credits', { token: 1, usd: 20_000 }, 5 * MINUTE],
    ['later, if its limit is used up', { token: CAP, usd: 0 }, usedUp],
    ['late or never, if it is above a limit', { token: CAP + 1, usd: 0 }, tooLarge],
  ])('%s', async (__, cost, outcome) => {
    expect(await run(await setUp(), cost)).toBe(outcome)
  })
})
