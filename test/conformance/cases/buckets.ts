import { leakyBucket, tokenBucket, type LimitContext, type Policy, type Store } from '@sluice/core'
import { expect, it } from 'vitest'
import { ACME, NOON, remaining, setUp, spend } from './case.ts'

const per = ['tenant']

const tokens = (limit: number, burst: number): Policy =>
  tokenBucket({ name: 'p', limit, burst, window: '1m', per })

const shape = (wait: boolean | '250ms', burst: number): Policy =>
  leakyBucket({ name: 'p', limit: 10, window: '1s', burst, wait, per })

const onRoute =
  (one: string, its: number, others: number) =>
  ({ route }: LimitContext): number =>
    route === one ? its : others

export function buckets(make: () => Store): void {
  it('a token bucket is filled one unit after another, up to its burst', async () => {
    const bucket = tokenBucket({ name: 'p', limit: 60, window: '1m', burst: 10, per })
    const limiter = setUp(make(), [bucket])
    await spend(limiter, 10)
    expect(await limiter.check(ACME)).toMatchObject({
      retryAfterMs: 1_000,
      policies: [{ limit: 60, burst: 10, remaining: 0, resetMs: 1_000 }],
    })
    expect(await limiter.check(ACME, { cost: 3 })).toMatchObject({
      retryAfterMs: 3_000,
      policies: [{ resetMs: 1_000 }],
    })
    limiter.clock.advance(2_999)
    expect(await limiter.check(ACME, { cost: 3 })).toMatchObject({ retryAfterMs: 1 })
    limiter.clock.advance(1)
    expect(remaining(await limiter.check(ACME, { cost: 3 }))).toEqual({ p: 0 })
    limiter.clock.advance(1_000_000)
    expect(await limiter.check(ACME, { cost: 11 })).toMatchObject({ reason: 'cost_exceeds_limit' })
    expect(remaining(await limiter.check(ACME, { cost: 10 }))).toEqual({ p: 0 })
  })

  it('a token bucket whose units do not come in whole milliseconds loses no part of one', async () => {
    const bucket = tokenBucket({ name: 'p', limit: 7, window: '10s', burst: 2, per })
    const limiter = setUp(make(), [bucket])
    await spend(limiter, 2)
    // Unit n is there n × 10,000 / 7 ms later, in the millisecond in which that moment is.
    for (let unit = 1; unit <= 70; unit += 1) {
      const at = NOON + Math.ceil((unit * 10_000) / 7)
      limiter.clock.set(at - 1)
      expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
      limiter.clock.set(at)
      expect(remaining(await limiter.check(ACME))).toEqual({ p: 0 })
    }
  })

  it('a token bucket of intervals gets its whole limit at each border, up to its burst', async () => {
    const bucket = tokenBucket({
      name: 'p',
      limit: 2,
      window: '20s',
      burst: 5,
      refill: 'interval',
      per,
    })
    const limiter = setUp(make(), [bucket])
    await spend(limiter, 5)
    expect(await limiter.check(ACME)).toMatchObject({ retryAfterMs: 10_000 })
    expect(await limiter.check(ACME, { cost: 3 })).toMatchObject({
      retryAfterMs: 30_000,
      policies: [{ resetMs: 10_000 }],
    })
    limiter.clock.advance(10_000)
    expect(remaining(await limiter.check(ACME))).toEqual({ p: 1 })
    limiter.clock.advance(39_999)
    expect(remaining(await limiter.peek(ACME, { cost: 0 }))).toEqual({ p: 3 })
    limiter.clock.advance(1)
    expect(remaining(await limiter.peek(ACME, { cost: 0 }))).toEqual({ p: 5 })
  })

  it('a token bucket takes as long to empty as before when its limit or burst changes', async () => {
    const store = make()
    await spend(setUp(store, [tokens(60, 10)]), 8)
    // What leaks in 8 s at 60 a minute is 8 units; at 6 a minute it is 0.8.
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

  it('a bucket whose limit depends on the route holds each limit, however they are mixed', async () => {
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

  it('a leaky bucket has nothing overtake what waits, whatever the limits', async () => {
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
    'a bucket of $low in $window tells to the millisecond when $cost fits $high',
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

  it('a bucket gives back what was reserved in terms of the limit of the day', async () => {
    const store = make()
    const reserved = await setUp(store, [tokens(60, 60)]).reserve(ACME, { cost: 40 })
    if (!reserved.allowed) throw new Error('It is denied')
    const raised = setUp(store, [tokens(600, 600)])
    expect(remaining(await raised.check(ACME))).toEqual({ p: 199 })
    await reserved.settle({ request: 10 })
    expect(remaining(await raised.peek(ACME, { cost: 0 }))).toEqual({ p: 499 })
    raised.clock.advance(10_100)
    expect(remaining(await raised.peek(ACME, { cost: 0 }))).toEqual({ p: 600 })
  })

  it('a leaky bucket has each request wait for those before it, and denies what it cannot hold', async () => {
    const limiter = setUp(make(), [shape(true, 4)])
    for (const delayMs of [0, 100, 200, 300]) {
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs })
    }
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      retryAfterMs: 100,
      delayMs: 0,
    })
    limiter.clock.advance(150)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs: 250 })
    limiter.clock.advance(350)
    expect(await limiter.check(ACME, { cost: 0 })).toMatchObject({ allowed: true, delayMs: 0 })
    expect(await limiter.check(ACME, { cost: 3 })).toMatchObject({ allowed: true, delayMs: 0 })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs: 300 })
  })

  it('a leaky bucket without waiting admits the same, at once', async () => {
    const limiter = setUp(make(), [shape(false, 4)])
    for (let time = 0; time < 4; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs: 0 })
    }
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 100 })
  })

  it('a leaky bucket denies what would wait too long, until it would wait just that long', async () => {
    const store = make()
    const limiter = setUp(store, [shape('250ms', 40)])
    await spend(limiter, 3)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      retryAfterMs: 50,
      delayMs: 0,
    })
    limiter.clock.advance(49)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    limiter.clock.advance(1)
    expect(await limiter.check(ACME, { cost: 30 })).toMatchObject({ allowed: true, delayMs: 250 })
    expect(await limiter.check(ACME, { cost: 30 })).toMatchObject({
      allowed: false,
      retryAfterMs: 3_000,
    })
    // The same bucket, whatever the wait.
    const patient = setUp(store, [shape(true, 40)])
    expect(remaining(await patient.peek(ACME, { cost: 0 }))).toEqual({ p: 7 })
  })

  it('a shadow of a leaky bucket delays nothing', async () => {
    const shadow = leakyBucket({
      name: 'p',
      limit: 1,
      window: '1s',
      burst: 2,
      mode: 'shadow',
      per,
    })
    const limiter = setUp(make(), [shadow])
    for (let time = 0; time < 3; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs: 0 })
    }
  })

  it('a bucket into which nothing leaks while a clock stands behind gives nothing away', async () => {
    const store = make()
    const policies = [
      tokenBucket({ name: 'token', limit: 10, window: '1s', burst: 4, per }),
      leakyBucket({ name: 'leaky', limit: 10, window: '1s', burst: 4, per }),
    ]
    const limiter = setUp(store, policies)
    await spend(limiter, 3)
    limiter.clock.advance(-5_000)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs: 5_300 })
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 5_100 })
    limiter.clock.advance(5_099)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    limiter.clock.advance(1)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('the largest buckets are counted to the unit', async () => {
    const limit = Math.floor(Number.MAX_SAFE_INTEGER / 60_000)
    const options = { limit, burst: limit, window: '1m', per } as const
    const policies = [
      tokenBucket({ name: 'token', ...options }),
      tokenBucket({ name: 'interval', refill: 'interval', ...options }),
      leakyBucket({ name: 'leaky', ...options }),
    ]
    const limiter = setUp(make(), policies)
    await spend(limiter, 1, ACME, { cost: limit - 3 })
    await spend(limiter, 3)
    const denied = await limiter.check(ACME)
    expect(
      denied.policies.map(({ remaining: left, retryAfterMs }) => [left, retryAfterMs]),
    ).toEqual([
      [0, 1],
      [0, 30_000],
      [0, 1],
    ])
    limiter.clock.advance(29_999)
    expect(remaining(await limiter.peek(ACME, { cost: 0 }))).toEqual({
      token: Math.floor((limit * 29_999) / 60_000),
      interval: 0,
      leaky: Math.floor((limit * 29_999) / 60_000),
    })
  })

  it('a bucket counts what was settled far above its size as far as numbers are exact', async () => {
    const options = { limit: 1, burst: 100, window: '30d', per } as const
    const limiter = setUp(make(), [
      tokenBucket({ name: 'token', ...options }),
      leakyBucket({ name: 'leaky', ...options }),
    ])
    const decision = await limiter.reserve(ACME, { cost: 50 })
    if (!decision.allowed) throw new Error('It is denied')
    await decision.settle({ request: 10 ** 12 })
    const window = 30 * 86_400_000
    const { policies } = await limiter.check(ACME, { cost: 100 })
    for (const { remaining: left, retryAfterMs } of policies) {
      expect([left, retryAfterMs]).toEqual([0, Number.MAX_SAFE_INTEGER])
    }
    limiter.clock.advance(window)
    const later = await limiter.check(ACME, { cost: 99 })
    expect(later.retryAfterMs).toBe(Number.MAX_SAFE_INTEGER - 2 * window)
  })
}
