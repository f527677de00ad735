import {
  concurrency,
  createLimiter,
  dailyCap,
  leakyBucket,
  manualClock,
  slidingWindow,
  slidingWindows,
  tokenBucket,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { fitRange, peekFit, reserve, type FitRangeOptions } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { ownRedis } from '../../support/running-redis.ts'
import { storesOf } from '../../support/stores.ts'

const TOKENS = { per: ['tenant'], unit: 'token' } as const
const PER_TOKEN = { token: 1_000_000 }
const tokensPerDay = (limit: number): Policy => dailyCap({ name: 'day', limit, ...TOKENS })

/** Reserves up to 100 output tokens, at least 10, beside 5 of input. */
const take = (limiter: Limiter, options: Partial<FitRangeOptions> = {}, input = 5) =>
  reserve(limiter, ACME, {
    cost: { token: input },
    fit: fitRange({ floor: 10, most: 100, rates: PER_TOKEN, ...options }),
  })

describe.each(['memory', 'redis, built-in transport'] as const)('in %s, a fit', (name) => {
  const make = storesOf(name)
  const limiterOf = (...policies: Policy[]): Limiter => setUp(policies, { store: make() }).limiter

  it('grants the most while there is room for it', async () => {
    const decision = await take(limiterOf(tokensPerDay(1_000)))
    expect(decision).toMatchObject({ allowed: true, granted: 100 })
    expect(decision.policies).toMatchObject([{ cost: 105, charged: true, remaining: 895 }])
  })

  it('grants what is left of a budget, then denies, and leaves less than the floor', async () => {
    const limiter = limiterOf(tokensPerDay(130))
    expect(await take(limiter)).toMatchObject({ granted: 100 })
    expect(await take(limiter)).toMatchObject({ granted: 20 })
    expect(await take(limiter)).toMatchObject({ allowed: false, reason: 'daily_quota_exceeded' })
    expect(remaining(await limiter.peek(ACME, { cost: { token: 0 } }))).toEqual({ day: 0 })
  })

  it('grants what the tightest of all enforced policies has room for', async () => {
    const limiter = limiterOf(
      tokensPerDay(1_000),
      slidingWindow({ name: 'minute', limit: 60, window: '1m', ...TOKENS }),
      dailyCap({ name: 'money', limit: 1_000, per: ['tenant'], unit: 'usd' }),
      concurrency({ name: 'calls', limit: 2, per: ['tenant'] }),
    )
    const fit = fitRange({ floor: 10, most: 100, rates: { token: 1_000_000, usd: 30_500_000 } })
    const decision = await reserve(limiter, ACME, { cost: { token: 5, usd: 20 }, fit })
    // 20 + ceil(32 × 30.5) = 996; one token more would be 1,027 micro-dollars.
    expect(decision).toMatchObject({ granted: 32 })
    expect(decision.policies.map(({ cost }) => cost)).toEqual([37, 37, 996, 1])
  })

  it('rounds a fraction of a unit up, and never grants what would exceed the limit', async () => {
    const limiter = limiterOf(dailyCap({ name: 'money', limit: 10, per: ['tenant'], unit: 'usd' }))
    const fit = fitRange({ floor: 1, most: 1_000_000, rates: { usd: 75_000 } })
    const decision = await reserve(limiter, ACME, { cost: { usd: 1 }, fit })
    expect(decision).toMatchObject({ granted: 120, policies: [{ cost: 10, remaining: 0 }] })
  })

  it('is not bound by a shadow, which counts what it would have granted', async () => {
    const limiter = limiterOf(
      tokensPerDay(1_000),
      slidingWindow({ name: 'shadow', limit: 50, window: '1m', mode: 'shadow', ...TOKENS }),
    )
    const first = await take(limiter)
    expect(first).toMatchObject({ granted: 100 })
    expect(first.policies).toMatchObject([
      { cost: 105, fits: true, charged: true },
      { cost: 50, fits: true, charged: true, remaining: 0 },
    ])
    const second = await take(limiter)
    expect(second).toMatchObject({ granted: 100 })
    expect(second.policies[1]).toMatchObject({ fits: false, charged: false })
  })

  it('fits all windows of one log, which is charged once', async () => {
    const windows = {
      second: { limit: 70, window: '10s' },
      hour: { limit: 90, window: '1h' },
    } as const
    const { limiter, clock } = setUp([slidingWindows({ name: 'log', windows, ...TOKENS })], {
      store: make(),
    })
    expect(await take(limiter)).toMatchObject({ granted: 65 })
    clock.advance(10_000)
    expect(await take(limiter)).toMatchObject({ granted: 15 })
    expect(remaining(await limiter.peek(ACME, { cost: { token: 0 } }))).toEqual({
      'log.second': 50,
      'log.hour': 0,
    })
  })

  it('fits one stripe, and all stripes together never exceed the limit', async () => {
    const policy = slidingWindow({ name: 'm', limit: 100, window: '1m', stripes: 4, ...TOKENS })
    const limiter = limiterOf(policy)
    let granted = 0
    for (let time = 0; time < 40; time += 1) {
      const decision = await take(limiter)
      if (decision.allowed) granted += 5 + decision.granted
    }
    expect(granted).toBe(100)
  })

  it('fits a bucket that lets wait', async () => {
    const bucket = leakyBucket({
      name: 'b',
      limit: 60,
      burst: 50,
      window: '1m',
      wait: '1m',
      ...TOKENS,
    })
    const limiter = limiterOf(bucket)
    expect(await take(limiter, {}, 0)).toMatchObject({ granted: 50, delayMs: 0 })
    expect(await take(limiter, {}, 0)).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
  })

  it('denies until the floor fits, and allows at that very time', async () => {
    const bucket = tokenBucket({ name: 'b', limit: 60, window: '1m', ...TOKENS })
    const { limiter, clock } = setUp([bucket], { store: make() })
    expect(await take(limiter)).toMatchObject({ granted: 55 })
    const denied = await take(limiter)
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 15_000 })
    clock.advance(14_999)
    expect((await take(limiter)).allowed).toBe(false)
    clock.advance(1)
    expect(await take(limiter)).toMatchObject({ granted: 10 })
  })

  it('never fits if the floor is more than a limit', async () => {
    const denied = await take(limiterOf(tokensPerDay(14)))
    expect(denied).toMatchObject({ reason: 'cost_exceeds_limit', retryAfterMs: null })
  })

  it('holds at most its share of any limit', async () => {
    const limiter = limiterOf(
      tokensPerDay(1_000),
      slidingWindow({ name: 'minute', limit: 200, window: '1m', ...TOKENS }),
      slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] }),
    )
    const fit = fitRange({ floor: 10, most: 100, rates: PER_TOKEN })
    const options = { cost: { token: 5 }, fit, maxShare: 0.25 }
    const decision = await reserve(limiter, ACME, options)
    expect(decision).toMatchObject({ granted: 45 })
    expect(decision.policies.map(({ cost }) => cost)).toEqual([50, 50, 1])
    // Without a range, a cost above the share never fits.
    const large = await reserve(limiter, ACME, { cost: { token: 51 }, maxShare: 0.25 })
    expect(large).toMatchObject({
      reason: 'cost_exceeds_limit',
      violated: { name: 'minute', cost: 51 },
    })
    expect(await reserve(limiter, ACME, { cost: { token: 50 }, maxShare: 0.25 })).toMatchObject({
      allowed: true,
    })
    await expect(reserve(limiter, ACME, { ...options, maxShare: 0 })).rejects.toMatchObject({
      option: 'maxShare',
    })
  })

  it('is settled at what was used, wherever it was charged', async () => {
    const limiter = limiterOf(
      tokensPerDay(80),
      slidingWindow({ name: 'shadow', limit: 50, window: '1m', mode: 'shadow', ...TOKENS }),
    )
    const decision = await take(limiter)
    if (!decision.allowed) throw new Error('denied')
    expect(decision.granted).toBe(75)
    expect(await decision.settle({ token: 12 })).toMatchObject({ returned: { token: 68 } })
    const left = remaining(await limiter.peek(ACME, { cost: { token: 0 } }))
    expect(left).toEqual({ day: 68, shadow: 38 })
  })

  it('can be peeked at, which changes nothing', async () => {
    const limiter = limiterOf(tokensPerDay(80))
    const options = {
      cost: { token: 5 },
      fit: fitRange({ floor: 10, most: 100, rates: PER_TOKEN }),
    }
    for (let time = 0; time < 3; time += 1) {
      expect(await peekFit(limiter, ACME, options)).toMatchObject({ allowed: true, granted: 75 })
    }
    expect(await reserve(limiter, ACME, options)).toMatchObject({ granted: 75 })
    expect(await peekFit(limiter, ACME, options)).not.toHaveProperty('granted')
  })

  it('grants the most where no policy takes part', async () => {
    const limiter = limiterOf(dailyCap({ name: 'day', limit: 1, routes: ['other'], ...TOKENS }))
    expect(await take(limiter)).toMatchObject({ allowed: true, granted: 100, policies: [] })
  })

  it('lets 64 calls at the end of a budget share it to the last token', async () => {
    const limiter = limiterOf(tokensPerDay(2_010))
    const decisions = await Promise.all(Array.from({ length: 64 }, () => take(limiter)))
    let spent = 0
    for (const decision of decisions) if (decision.allowed) spent += 5 + decision.granted
    // 19 of 105 tokens and the one that gets what is left; all others find less than the floor.
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20)
    expect(spent).toBe(2_010)
  })
})

describe('a fit', () => {
  const own = ownRedis()

  it('costs the commands and the round trip of a reservation without one', async () => {
    const policies = [
      tokensPerDay(1_000_000),
      tokenBucket({ name: 'b', limit: 60_000, window: '1m', ...TOKENS }),
      slidingWindow({ name: 'm', limit: 60_000, window: '1m', ...TOKENS }),
      slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] }),
      dailyCap({ name: 'money', limit: 1_000_000, per: ['tenant'], unit: 'usd' }),
      concurrency({ name: 'calls', limit: 5, per: ['tenant'] }),
    ]
    const bill = async (withFit: boolean) => {
      const { limiter } = setUp(policies, { store: own.store() })
      const fit = fitRange({ floor: 1, most: 100, rates: PER_TOKEN })
      const call = (tenant: string) =>
        reserve(
          limiter,
          { tenant },
          withFit ? { cost: { token: 5, usd: 1 }, fit } : { cost: { token: 105, usd: 1 } },
        )
      await call('warm')
      return own.meter.measure(async () => {
        expect(await call('acme')).toMatchObject({ allowed: true, degraded: undefined })
      })
    }
    expect(await bill(true)).toEqual(await bill(false))
  })

  it('is granted from memory while the store fails, and in full if the limiter allows blindly', async () => {
    const broken = { ...memory(), check: () => Promise.reject(new Error('down')) }
    const limiterThat = (onStoreError: 'local' | 'allow' | 'deny'): Limiter =>
      setUp([tokensPerDay(80)], { store: broken, onStoreError }).limiter
    expect(await take(limiterThat('local'))).toMatchObject({ granted: 75 })
    expect(await take(limiterThat('allow'))).toMatchObject({ granted: 100 })
    expect(await take(limiterThat('deny'))).toMatchObject({ reason: 'store_unavailable' })
  })

  it('is granted at its floor by a store of your own that does not know it', async () => {
    const inner = memory()
    const store: Store = {
      ...inner,
      check: (request) => inner.check({ ...request, fit: undefined }),
    }
    const decision = await take(setUp([tokensPerDay(80)], { store }).limiter)
    expect(decision).toMatchObject({ granted: 10, policies: [{ cost: 15, remaining: 65 }] })
  })

  it('does not compile with a unit that no policy counts, and throws', async () => {
    const policy = dailyCap({ name: 'day', limit: 80, ...TOKENS })
    const limiter = createLimiter({ store: memory(), policies: [policy] })
    const fit = fitRange({ floor: 1, most: 2, rates: { tokens: 1_000_000 } })
    // @ts-expect-error -- `tokens` is misspelt
    await expect(reserve(limiter, ACME, { cost: { token: 1 }, fit })).rejects.toMatchObject({
      code: 'invalid_cost',
    })
    await expect(
      // @ts-expect-error -- not created by fitRange
      reserve(limiter, ACME, { fit: { floor: 1, most: 2, rates: PER_TOKEN } }),
    ).rejects.toMatchObject({ code: 'invalid_cost', input: 'fit' })
  })

  it.each([
    ['below 0', { token: -100 }],
    ['that is null', null],
    ['that is a list', []],
  ])('refuses a cost %s, which the cost of the floor must not hide', async (_, cost) => {
    const limiter = setUp([tokensPerDay(1_000)]).limiter
    const fit = fitRange({ floor: 200, most: 400, rates: PER_TOKEN })
    const invalid = { code: 'invalid_cost' }
    await expect(reserve(limiter, ACME, { cost: cost as never, fit })).rejects.toMatchObject(
      invalid,
    )
    await expect(peekFit(limiter, ACME, { cost: cost as never, fit })).rejects.toMatchObject(
      invalid,
    )
  })

  it('stays exact at the largest rates', async () => {
    const limit = 10 ** 12
    const clock = manualClock(0)
    const policies = [dailyCap({ name: 'money', limit, per: ['tenant'], unit: 'usd' })]
    const limiter = createLimiter({ store: memory(), policies, clock })
    const fit = fitRange({ floor: 1, most: 4_503, rates: { usd: 10 ** 12 } })
    const decision = await reserve(limiter, ACME, { cost: { usd: limit - 10 ** 9 - 1 }, fit })
    expect(decision).toMatchObject({ granted: 1_000, policies: [{ remaining: 1 }] })
  })
})

describe('a mistake in fitRange', () => {
  const make = loosely(fitRange)
  const good = { floor: 1, most: 10, rates: PER_TOKEN }
  mistakesAreNamed([
    ['an unknown option', () => make({ ...good, max: 5 }), 'fitRange.max', 'unknown_option'],
    ['no floor', () => make({ most: 10, rates: PER_TOKEN }), 'fitRange.floor'],
    ['a floor of 0', () => make({ ...good, floor: 0 }), 'fitRange.floor'],
    ['a floor above the most', () => make({ ...good, floor: 11 }), 'fitRange.floor'],
    ['a most that is not whole', () => make({ ...good, most: 1.5 }), 'fitRange.most'],
    ['no rates', () => make({ ...good, rates: {} }), 'fitRange.rates'],
    ['a rate per token', () => make({ ...good, rates: { usd: 2.5 } }), 'fitRange.rates.usd'],
    [
      'a rate of requests',
      () => make({ ...good, rates: { request: 1 } }),
      'fitRange.rates.request',
    ],
    [
      'a product past 2^52',
      () => make({ ...good, most: 10 ** 6, rates: { usd: 10 ** 12 } }),
      'fitRange.rates.usd',
    ],
  ])
})
