/* The charge of a job whose next attempts find the store failing, in queues that do not tell which attempts have reserved. */
import { concurrency, createLimiter, dailyCap, StoreError, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedProcessor } from '@sluice/queue/bullmq'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { DelayedError } from 'bullmq'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../support/limiters.ts'
import { NOON } from '../support/times.ts'
import { message } from './messages.ts'

const CAP = 100

function setUp() {
  const store = memory()
  let isDown = false
  let requests = 0
  const pass = <T>(ask: () => T): T => {
    requests += 1
    if (isDown) throw new StoreError('store_unreachable', 'down')
    return ask()
  }
  const failing: Store = {
    check: async (request) => pass(() => store.check(request)),
    run: async (operation) => pass(() => store.run(operation)),
    reset: (keys) => store.reset(keys),
  }
  const limiter = createLimiter({
    store: failing,
    clock: () => Date.now(),
    onStoreError: 'deny',
    policies: [
      dailyCap({ name: 'daily', limit: CAP, per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: 5, per: ['tenant'] }),
    ],
  })
  const left = async () => {
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return {
    limiter,
    left,
    set: (down: boolean) => void (isDown = down),
    requests: async (run: () => Promise<unknown>) => {
      const before = requests
      await run()
      return requests - before
    },
  }
}

const subject = () => ACME
const cost = () => ({ token: 10 })

type Limiter = ReturnType<typeof setUp>['limiter']

/** Returns a function that runs a job of BullMQ. True for a handler that fails. */
function inBullMQ(limiter: Limiter) {
  const job = { queueName: 'q', id: '1', attemptsStarted: 0, attemptsMade: 0, stalledCounter: 0 }
  return async (fails: boolean): Promise<void> => {
    job.attemptsStarted += 1
    const processor = limitedProcessor<unknown, number>(
      limiter,
      { subject, cost, used: (token) => ({ token }) },
      async () => {
        if (fails) throw new Error('no luck')
        return 4
      },
    )
    const moved = { ...job, moveToDelayed: async () => {} }
    const thrown: unknown = await processor(moved as never, 'token').catch(
      (error: unknown) => error,
    )
    if (thrown instanceof Error && !(thrown instanceof DelayedError)) job.attemptsMade += 1
  }
}

/** Returns a function that handles a message of Cloudflare Queues. True for a handler that fails. */
function inCloudflare(limiter: Limiter) {
  const one = message('acme')
  return async (fails: boolean): Promise<void> => {
    const consume = limitedConsumer<object, unknown>(limiter, { subject, cost }, () => {
      if (fails) throw new Error('no luck')
      return { token: 4 }
    })
    await consume({ queue: 'q', messages: [one] }, {}, {})
    one.attempts += 1
  }
}

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: NOON })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Waits for what needs the pauses after failures. */
async function patiently(running: Promise<unknown>): Promise<void> {
  const isOver = vi.fn<() => void>()
  void running.finally(isOver)
  while (isOver.mock.calls.length === 0) await vi.advanceTimersByTimeAsync(100)
  await running
}

describe.each([
  ['BullMQ', inBullMQ, 7],
  ['Cloudflare', inCloudflare, 3],
] as const)('a job of %s', (_, queueOf, most) => {
  it.each([1, 2, most])(
    'is charged once if the store fails in %d attempts after one that failed',
    async (outages) => {
      const { limiter, left, set } = setUp()
      const run = queueOf(limiter)
      await run(true)
      expect(await left()).toEqual([CAP - 10, 5])
      set(true)
      for (let n = 0; n < outages; n += 1) await patiently(run(false))
      set(false)
      await run(false)
      expect(await left()).toEqual([CAP - 4, 5])
    },
  )

  it('asks for the attempt before alone, if that one has reserved', async () => {
    const { limiter, requests } = setUp()
    const run = queueOf(limiter)
    for (let n = 0; n < 4; n += 1) await run(true)
    expect(await requests(() => run(true))).toBe(4)
  })
})
