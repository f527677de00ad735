/* Jobs that are paid from a balance. */
import { createLimiter, manualClock } from '@sluice/core'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { countJobs, JobError, limitedQueue, work } from '@sluice/queue'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { describe, expect, it } from 'vitest'
import { lawfulBalance } from '../support/balance-law.ts'
import { ACME } from '../support/limiters.ts'
import { MINUTE, NOON } from '../support/times.ts'
import { message, options, type Job } from './messages.ts'

const GRANTED = 100_000
const COST = { usd: 40_000 }

function setUp() {
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: memory(),
    clock,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
  })
  const queue = limitedQueue(limiter, { name: 'q', backoff: '1ms', attempts: 2 })
  const pay = () => grant(limiter, ACME, { amount: GRANTED, id: 'g', at: NOON, kind: 'paid' })
  return { clock, limiter, queue, pay }
}

const fail = (error: Error) => () => {
  throw error
}

const ENDS: Readonly<
  Record<string, readonly [handle: Parameters<typeof work>[1], spent: number, held?: number]>
> = {
  'says what it used': [() => ({ usd: 7_000 }), 7_000],
  'used more than there was': [() => ({ usd: 130_000 }), 130_000],
  'says nothing': [() => undefined, 40_000],
  'used nothing': [() => ({ usd: 0 }), 0],
  'fails each time, and is held for a retry': [fail(new Error('no')), 0, 40_000],
  'fails twice, and says what it used': [
    fail(new JobError('cut', { used: { usd: 3_000 } })),
    6_000,
  ],
}

describe('a job on credits', () => {
  it.each(Object.entries(ENDS))('that %s is charged once', async (_, [handle, spent, held = 0]) => {
    const { queue, limiter, clock, pay } = setUp()
    await pay()
    await queue.add('data', { subject: ACME, cost: COST })
    await work(queue, handle, { untilIdle: true, onFailed: () => undefined }).ended
    clock.advance(MINUTE)
    await work(queue, handle, { untilIdle: true, onFailed: () => undefined }).ended
    expect(await lawfulBalance(limiter)).toMatchObject({
      balance: GRANTED - spent - held,
      available: Math.max(0, GRANTED - spent - held),
      held,
    })
  })

  it('waits for a grant, however long that takes, and runs within five minutes of it', async () => {
    const { queue, limiter, clock, pay } = setUp()
    await queue.add('data', { subject: ACME, cost: COST })
    let ran = 0
    const run = () =>
      work(queue, () => void (ran += 1), { untilIdle: true, onFailed: () => undefined }).ended
    for (let hours = 0; hours < 3; hours += 1) {
      await run()
      clock.advance(60 * MINUTE)
    }
    expect([ran, await countJobs(queue)]).toMatchObject([0, { waiting: 1, failed: 0 }])
    await run()
    await pay()
    clock.advance(5 * MINUTE)
    await run()
    expect([ran, await countJobs(queue)]).toMatchObject([1, { waiting: 0, failed: 0 }])
    expect(await lawfulBalance(limiter)).toMatchObject({ available: GRANTED - COST.usd })
  })

  it('of Cloudflare is charged at what its handler says, and comes back without credits', async () => {
    const { limiter, pay } = setUp()
    const consume = limitedConsumer<object, Job>(limiter, { ...options, cost: () => COST }, () => ({
      usd: 7_000,
    }))
    const job = message('acme')
    await consume({ queue: 'jobs', messages: [job] }, {}, {})
    expect([job.ack.mock.calls.length, job.retry.mock.calls.length]).toEqual([0, 1])
    await pay()
    await consume({ queue: 'jobs', messages: [{ ...job, attempts: 2 }] }, {}, {})
    expect(job.ack).toHaveBeenCalledOnce()
    expect(await lawfulBalance(limiter)).toMatchObject({ available: GRANTED - 7_000 })
  })
})
