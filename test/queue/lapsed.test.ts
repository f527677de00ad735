/* Jobs whose next attempt comes after the time of their reservation. */
import { concurrency, createLimiter, dailyCap, manualClock, monthlyCap } from '@sluice/core'
import { credits, grant, type CreditsOptions } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { countJobs, limitedQueue, work } from '@sluice/queue'
import { expect, it } from 'vitest'
import { lawfulBalance } from '../support/balance-law.ts'
import { ACME } from '../support/limiters.ts'
import { DAY, HOUR, MINUTE, NOON } from '../support/times.ts'

const GRANTED = 100_000
const ESTIMATE = 100_000
const USED = 60_000
const CAP = 1_000_000

const balanceThat = (unsettled: CreditsOptions['unsettled']) =>
  credits({ name: 'credits', per: ['tenant'], unsettled })
const month = monthlyCap({ name: 'month', limit: CAP, per: ['tenant'], unit: 'usd' })
const today = dailyCap({ name: 'today', limit: CAP, per: ['tenant'], unit: 'usd' })
const slots = concurrency({ name: 'inFlight', limit: 1, per: ['tenant'] })

/** A queue with a job whose first attempt has failed. */
async function setUp(policies: Parameters<typeof createLimiter>[0]['policies']) {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store: memory(), clock, onStoreError: 'deny', policies })
  const queue = limitedQueue(limiter, { name: 'q', backoff: '1ms' })
  const pay = (id: string) =>
    grant(limiter, ACME, { amount: GRANTED, id, at: clock(), kind: 'paid' })
  let ran = 0
  const run = async (): Promise<number> => {
    const handle = () => {
      ran += 1
      if (ran === 1) throw new Error('no luck')
      return { usd: USED }
    }
    await work(queue, handle, { untilIdle: true }).ended
    return ran
  }
  const left = async () => {
    const { policies: states } = await limiter.peek(ACME, { cost: { usd: 0 } })
    return Object.fromEntries(states.map(({ name, remaining }) => [name, remaining]))
  }
  await queue.add('data', { subject: ACME, cost: { usd: ESTIMATE } })
  return { clock, limiter, queue, pay, run, left }
}

it.each([1.5, 3])(
  'a job that is retried after %d days waits for credits if its own came back and are spent',
  async (days) => {
    const { clock, limiter, queue, pay, run } = await setUp([balanceThat('release')])
    await pay('first')
    await run()
    clock.advance(days * DAY)
    const { allowed } = await limiter.check(ACME, { cost: { usd: GRANTED } })
    expect([allowed, await run()]).toEqual([true, 1])
    clock.advance(HOUR)
    expect([await run(), await countJobs(queue)]).toMatchObject([1, { waiting: 1 }])
    await pay('second')
    clock.advance(5 * MINUTE)
    expect(await run()).toBe(2)
    expect(await lawfulBalance(limiter)).toMatchObject({
      available: GRANTED - USED,
      debt: 0,
      totals: { settled: GRANTED + USED },
    })
  },
)

it.each<[CreditsOptions['unsettled'], number, number]>([
  ['release', 0.9, 0],
  ['release', 1.5, 0],
  ['release', 3, 0],
  ['keep', 0.9, 0],
  ['keep', 1.5, 0],
  // Nothing ends it by itself: `unsettled` has decided.
  ['keep', 3, ESTIMATE],
])(
  'with `%s`, a job that is retried after %d days is charged what it used, beside %d abandoned',
  async (unsettled, days, abandoned) => {
    const { clock, limiter, pay, run, left } = await setUp([balanceThat(unsettled), month, slots])
    await pay('first')
    await run()
    clock.advance(days * DAY)
    if (abandoned > 0) await pay('second')
    expect(await run()).toBe(2)
    expect(await lawfulBalance(limiter)).toMatchObject({
      held: 0,
      abandoned,
      debt: 0,
      totals: { settled: USED },
    })
    expect(await left()).toMatchObject({ inFlight: 1 })
  },
)

it.each([0.9, 1.5])(
  'a job that is retried after %d days, while the store knows of its reservation, is charged once in each limit',
  async (days) => {
    const { clock, pay, run, left } = await setUp([balanceThat('release'), month, slots])
    await pay('first')
    await run()
    clock.advance(days * DAY)
    expect(await run()).toBe(2)
    expect(await left()).toEqual({ credits: GRANTED - USED, month: CAP - USED, inFlight: 1 })
  },
)

it.each([1.5, 3])(
  'a job without a balance that is retried after %d days has been charged once, at its estimate',
  async (days) => {
    const { clock, run, left } = await setUp([month, today, slots])
    await run()
    clock.advance(days * DAY)
    expect(await run()).toBe(2)
    expect(await left()).toEqual({ month: CAP - ESTIMATE, today: CAP, inFlight: 1 })
  },
)
