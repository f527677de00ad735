import {
  concurrency,
  dailyCap,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { explain } from '@sluice/core/explain'
import { tooManyRequests } from '@sluice/core/http'
import { reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { storesOf } from '../../support/stores.ts'
import { DAY, NOON } from '../../support/times.ts'
import { mustReserve } from './support.ts'

const budget = dailyCap({ name: 'budget', limit: 100, unit: 'usd', per: ['tenant'] })
const calls = concurrency({ name: 'calls', limit: 5, per: ['tenant'] })
const rpm = (limit: number): Policy =>
  slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })
const UNTIL_MIDNIGHT_MS = DAY - (NOON % DAY)

describe('a denial of a reservation', () => {
  it('asks to come back soon while calls in flight hold what is missing', async () => {
    const { limiter } = setUp([budget, calls])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    const denied = await reserve(limiter, ACME, { cost: { usd: 30 } })
    expect(denied).toMatchObject({
      allowed: false,
      reason: 'concurrency_exceeded',
      violated: { name: 'budget', remaining: 20 },
      retryAfterMs: 1_000,
    })
    const { headers } = tooManyRequests(denied as never)
    expect(headers.get('Retry-After')).toBe('1')
    expect(headers.get('x-should-retry')).toBeNull()
    expect(headers.get('RateLimit')).toContain('"budget";r=20;t=1')
  })

  it('is for the day once the money is spent, and nothing is in flight', async () => {
    const { limiter } = setUp([budget, calls])
    const call = await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    await call.settle({ usd: 90 })
    expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'daily_quota_exceeded',
      retryAfterMs: UNTIL_MIDNIGHT_MS,
    })
  })

  it('waits for requests, which no call returns', async () => {
    const { limiter } = setUp([budget, calls, rpm(1)])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'concurrency_exceeded',
      violated: { name: 'budget' },
      retryAfterMs: 60_000,
    })
    expect(await reserve(limiter, ACME, { cost: { usd: 1 } })).toMatchObject({
      reason: 'rate_limit_exceeded',
      violated: { name: 'rpm' },
      retryAfterMs: 60_000,
    })
  })

  it('stays for ever if the cost is above the limit', async () => {
    const { limiter } = setUp([budget, calls])
    await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    expect(await reserve(limiter, ACME, { cost: { usd: 101 } })).toMatchObject({
      reason: 'cost_exceeds_limit',
      retryAfterMs: null,
    })
  })
})

const usd = { limit: 100, unit: 'usd', per: ['tenant'], name: 'p' } as const
const KINDS: Record<string, Policy> = {
  'a daily cap': dailyCap(usd),
  'a monthly cap': monthlyCap(usd),
  'a fixed window': fixedWindow({ ...usd, window: '1d' }),
  'a session': sessionWindow({ ...usd, idle: '1d' }),
  'a session of a day': sessionWindow({ ...usd, length: '1d' }),
  'a sliding window': slidingWindow({ ...usd, window: '1d' }),
  'a log': slidingWindows({
    name: 'log',
    windows: { p: { limit: 100, window: '1d' } },
    per: ['tenant'],
    unit: 'usd',
  }),
  'a sliding window counter': slidingWindowCounter({ ...usd, window: '1d', segments: 4 }),
  'a token bucket': tokenBucket({ ...usd, window: '1d' }),
  'a leaky bucket': leakyBucket({ ...usd, window: '1d', burst: 100 }),
}
const STORES = [
  'memory',
  'file',
  'redis, built-in transport',
  'durable objects, in this process',
] as const
const HELD = { reason: 'concurrency_exceeded', retryAfterMs: 1_000, violated: { unit: 'usd' } }

describe.each(STORES)('%s', (name) => {
  const make = storesOf(name)

  describe.each(Object.entries(KINDS))('%s', (_, policy) => {
    it('says held while what is held is all that is missing', async () => {
      const { limiter } = setUp([policy], { store: make() })
      const call = await mustReserve(limiter, ACME, { cost: { usd: 80 } })
      expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject(HELD)
      expect((await explain(limiter, ACME, { cost: { usd: 30 } })).decision).toMatchObject(HELD)
      await call.settle({ usd: 50 })
      expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({ allowed: true })
    })

    it('says spent while a call in flight holds too little', async () => {
      const { limiter } = setUp([policy, calls], { store: make() })
      await (await mustReserve(limiter, ACME, { cost: { usd: 80 } })).settle({ usd: 75 })
      const call = await mustReserve(limiter, ACME, { cost: { usd: 5 } })
      const denied = await reserve(limiter, ACME, { cost: { usd: 30 } })
      expect(denied.reason).not.toBe('concurrency_exceeded')
      expect(denied.retryAfterMs).toBeGreaterThan(60_000)
      expect(await reserve(limiter, ACME, { cost: { usd: 25 } })).toMatchObject(HELD)
      await call.cancel()
      expect(await reserve(limiter, ACME, { cost: { usd: 25 } })).toMatchObject({ allowed: true })
    })

    it.each([
      ['at the estimate', { usd: 80 }],
      ['without a usage', {}],
      ['above the estimate', { usd: 95 }],
    ])('says spent once the call is settled %s', async (_case, used) => {
      const { limiter } = setUp([policy], { store: make() })
      await (await mustReserve(limiter, ACME, { cost: { usd: 80 } })).settle(used)
      const denied = await reserve(limiter, ACME, { cost: { usd: 30 } })
      expect(denied.reason).not.toBe('concurrency_exceeded')
      expect(denied.retryAfterMs).toBeGreaterThan(60_000)
    })

    it('says spent once the estimate of a dead holder is final', async () => {
      const { limiter, clock } = setUp([policy], { store: make() })
      await mustReserve(limiter, ACME, { cost: { usd: 80 }, settleWithin: '1m' })
      clock.advance(59_999)
      expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject(HELD)
      clock.advance(1)
      const denied = await reserve(limiter, ACME, { cost: { usd: 30 } })
      expect(denied.reason).not.toBe('concurrency_exceeded')
    })

    it('forgets nothing that is held when somebody charges without reserving', async () => {
      const { limiter } = setUp([policy], { store: make() })
      const call = await mustReserve(limiter, ACME, { cost: { usd: 60 } })
      await limiter.check(ACME, { cost: { usd: 20 } })
      expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject(HELD)
      await call.settle({ usd: 60 })
      expect((await reserve(limiter, ACME, { cost: { usd: 30 } })).retryAfterMs).not.toBe(1_000)
    })
  })

  it('says held while a call of another process may hold it, if calls in flight are counted', async () => {
    const store = make()
    const [here, there] = [setUp([budget, calls], { store }), setUp([budget, calls], { store })]
    const call = await mustReserve(there.limiter, ACME, { cost: { usd: 80 } })
    expect(await reserve(here.limiter, ACME, { cost: { usd: 30 } })).toMatchObject(HELD)
    await call.settle({})
    expect(await reserve(here.limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'daily_quota_exceeded',
    })
  })

  it('says spent once the data of the call has gone elsewhere, where it is settled', async () => {
    const { limiter } = setUp([budget], { store: make() })
    const call = await mustReserve(limiter, ACME, { cost: { usd: 80 } })
    await reservation(limiter, JSON.stringify(call)).settle({})
    expect(await reserve(limiter, ACME, { cost: { usd: 30 } })).toMatchObject({
      reason: 'daily_quota_exceeded',
    })
  })
})
