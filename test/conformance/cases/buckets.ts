import { leakyBucket, tokenBucket, type Policy, type Store } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { setUp } from './case.ts'

const per = ['tenant']

const shape = (wait: boolean | '250ms', burst: number): Policy =>
  leakyBucket({ name: 'p', limit: 10, window: '1s', burst, wait, per })

export function buckets(make: () => Store): void {
  it('a token bucket refills one unit at a time, up to its burst', async () => {
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

  it('a token bucket whose units take fractions of a millisecond loses none of them', async () => {
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

  it('a token bucket of intervals refills by its whole limit at each border, up to its burst', async () => {
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

  it('a leaky bucket lets each request wait for those before it and denies when it is full', async () => {
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

  it('a leaky bucket without waiting admits the same requests at once', async () => {
    const limiter = setUp(make(), [shape(false, 4)])
    for (let time = 0; time < 4; time += 1) {
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true, delayMs: 0 })
    }
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 100 })
  })

  it('a leaky bucket denies a request that would wait longer than the maximum, and no other', async () => {
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

  it('a leaky bucket in shadow mode delays nothing', async () => {
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

  it('a bucket admits nothing extra while a clock is behind', async () => {
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

  // Of these, the product of limit and fill is no whole number to a double.
  it.each([133, 265, 266, 267, 529])(
    'the largest buckets have exactly %i units less after a charge of as many',
    async (cost) => {
      const limit = Math.floor(Number.MAX_SAFE_INTEGER / 60_000)
      const options = { limit, burst: limit, window: '1m', per } as const
      const limiter = setUp(make(), [
        tokenBucket({ name: 'token', ...options }),
        leakyBucket({ name: 'leaky', ...options }),
      ])
      await spend(limiter, 1, ACME, { cost })
      const left = limit - cost
      expect(remaining(await limiter.peek(ACME, { cost: 0 }))).toEqual({ token: left, leaky: left })
    },
  )

  it('a bucket counts a settlement far above its size as far as numbers are exact', async () => {
    const options = { limit: 1, burst: 100, window: '30d', per } as const
    const limiter = setUp(make(), [
      tokenBucket({ name: 'token', ...options }),
      leakyBucket({ name: 'leaky', ...options }),
    ])
    const decision = await reserve(limiter, ACME, { cost: 50 })
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
