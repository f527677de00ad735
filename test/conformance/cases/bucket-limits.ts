import {
  leakyBucket,
  tokenBucket,
  type Limit,
  type LimitContext,
  type Policy,
  type Store,
} from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { mustReserve } from '../../core/reservations/support.ts'
import { ACME } from '../../support/limiters.ts'
import { setUp } from './case.ts'

const per = ['tenant']

const tokens = (limit: number, burst: number): Policy =>
  tokenBucket({ name: 'p', limit, burst, window: '1m', per })

const onRoute =
  (one: string, its: number, others: number) =>
  ({ route }: LimitContext): number =>
    route === one ? its : others

/** A bucket whose limit is another one for the next request. */
export function bucketLimits(make: () => Store): void {
  it('a token bucket takes as long to empty as before when its limit or burst changes', async () => {
    const store = make()
    await spend(setUp(store, [tokens(60, 10)]), 8)
    // In 8 s, 8 units leak at 60 a minute, and 0.8 at 6 a minute.
    const lowered = setUp(store, [tokens(6, 1)])
    const denied = await lowered.check(ACME)
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 8_000 })
    lowered.clock.advance(7_999)
    expect(await lowered.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    lowered.clock.advance(1)
    expect(remaining(await lowered.check(ACME))).toEqual({ p: 0 })
    const raised = setUp(store, [tokens(60, 20)])
    raised.clock.advance(8_000)
    expect(remaining(await raised.check(ACME))).toEqual({ p: 9 })
  })

  it('a bucket whose limit depends on the route keeps to each limit, in any mix of routes', async () => {
    const byRoute = tokenBucket({
      name: 'p',
      limit: onRoute('items', 6_000, 60),
      window: '1m',
      per,
    })
    const limiter = setUp(make(), [byRoute])
    const items = { ...ACME, route: 'items' }
    await spend(limiter, 30, { ...ACME, route: 'evaluate' })
    await spend(limiter, 1, items, { cost: 3_000 })
    for (let second = 0; second < 5; second += 1) {
      const denied = await limiter.check({ ...ACME, route: 'evaluate' })
      expect(denied).toMatchObject({ allowed: false, retryAfterMs: 1_000 - second * 10 })
      limiter.clock.advance(999)
      await spend(limiter, 1, items, { cost: 99 })
      limiter.clock.advance(1)
    }
    limiter.clock.advance(950)
    await spend(limiter, 1, { ...ACME, route: 'evaluate' })
    expect(await limiter.check(items)).toMatchObject({ allowed: false, retryAfterMs: 10 })
  })

  const kinds = {
    'token bucket': (limit: Limit) => tokenBucket({ name: 'p', limit, window: '1m', per }),
    'token bucket of intervals': (limit: Limit) =>
      tokenBucket({ name: 'p', limit, window: '1m', refill: 'interval', per }),
    'leaky bucket': (limit: Limit) =>
      leakyBucket({ name: 'p', limit, window: '1m', burst: 'limit', per }),
    'leaky bucket that waits': (limit: Limit) =>
      leakyBucket({ name: 'p', limit, window: '1m', burst: 'limit', wait: '10m', per }),
  }
  const limits = [7, 9, 11] as const
  const changes = limits.flatMap((one) => limits.map((other) => [one, other] as const))

  it.each(Object.keys(kinds) as (keyof typeof kinds)[])(
    'an empty %s takes a new limit as it is: nothing is rounded',
    async (kind) => {
      for (const [its, others] of changes) {
        // Empty since just now; and for longer than some stores keep it.
        for (const emptyMs of [60_000, 100_000, 600_000]) {
          const limiter = setUp(make(), [kinds[kind](onRoute('evaluate', its, others))])
          const evaluate = { ...ACME, route: 'evaluate' }
          const call = await mustReserve(limiter, evaluate)
          await spend(limiter, 1, { ...ACME, route: 'items' })
          limiter.clock.advance(emptyMs)
          await call.settle({ request: 4 })
          expect(remaining(await limiter.peek(evaluate))).toEqual({ p: its - 3 })
          limiter.clock.advance(emptyMs)
          await spend(limiter, 1, evaluate)
          expect(remaining(await limiter.peek(evaluate))).toEqual({ p: its - 1 })
        }
      }
    },
  )

  it('no request overtakes another in a leaky bucket, whatever the limits', async () => {
    const limit = onRoute('fast', 150, 6)
    const queue = leakyBucket({ name: 'p', limit, window: '1m', burst: 500, per })
    const limiter = setUp(make(), [queue])
    const delays = async (route: string) => (await limiter.check({ ...ACME, route })).delayMs
    expect([await delays('slow'), await delays('slow'), await delays('fast')]).toEqual([
      0, 10_000, 20_000,
    ])
    expect([await delays('fast'), await delays('slow')]).toEqual([20_400, 20_800])
  })

  // Units, and their products with limits, far beyond what a double holds exactly.
  it.each([
    { window: '30d', low: [500_000, 500_000], high: [3_000_000, 3_000_000], at: 46, cost: 356_356 },
    { window: '30d', low: [500_000, 500_000], high: [3_000_000, 3_000_000], at: 10, cost: 71_272 },
    { window: '1d', low: [30_000_000, 30_000_000], high: [1_000_000, 1_000_000], at: 1, cost: 370 },
    { window: '30d', low: [10_000, 20_000], high: [3_000_000, 3_000_000], at: 0, cost: 1 },
    { window: '1d', low: [10_000, 50_000], high: [50_000_000, 50_000_000], at: 0, cost: 1 },
    { window: '1d', low: [1_000, 80_000], high: [2_000_000, 2_000_000], at: 7, cost: 1 },
  ] as const)(
    'a bucket of $low in $window gives to the millisecond when $cost fits $high',
    async ({ window, low, high, at, cost }) => {
      const store = make()
      const of = ([limit, burst]: readonly [number, number]): Policy =>
        tokenBucket({ name: 'p', limit, burst, window, per })
      await spend(setUp(store, [of(low)]), 1, ACME, { cost: low[1] })
      const limiter = setUp(store, [of(high)])
      limiter.clock.advance(at)
      const { retryAfterMs } = await limiter.peek(ACME, { cost })
      limiter.clock.advance(Number(retryAfterMs) - 1)
      expect(await limiter.peek(ACME, { cost })).toMatchObject({ allowed: false, retryAfterMs: 1 })
      limiter.clock.advance(1)
      expect(await limiter.peek(ACME, { cost })).toMatchObject({ allowed: true })
    },
  )

  it('a bucket gives back a reservation in terms of the limit at that time', async () => {
    const store = make()
    const reserved = await reserve(setUp(store, [tokens(60, 60)]), ACME, { cost: 40 })
    if (!reserved.allowed) throw new Error('It is denied')
    const raised = setUp(store, [tokens(600, 600)])
    expect(remaining(await raised.check(ACME))).toEqual({ p: 199 })
    await reserved.settle({ request: 10 })
    expect(remaining(await raised.peek(ACME, { cost: 0 }))).toEqual({ p: 499 })
    raised.clock.advance(10_100)
    expect(remaining(await raised.peek(ACME, { cost: 0 }))).toEqual({ p: 600 })
  })
}
