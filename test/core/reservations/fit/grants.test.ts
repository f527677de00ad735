import {
  concurrency,
  dailyCap,
  leakyBucket,
  slidingWindow,
  slidingWindows,
  tokenBucket,
  type Limiter,
  type Policy,
} from '@sluice/core'
import { fitRange, peekFit, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../../support/decisions.ts'
import { ACME, setUp } from '../../../support/limiters.ts'
import { storesOf } from '../../../support/stores.ts'
import { PER_TOKEN, take, TOKENS, tokensPerDay } from './support.ts'

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
    const calls = [await take(limiter), await take(limiter)]
    expect(calls).toMatchObject([{ granted: 100 }, { granted: 20 }])
    expect(await take(limiter)).toMatchObject({ allowed: false, reason: 'concurrency_exceeded' })
    for (const call of calls) if (call.allowed) await call.settle({})
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
    const call = await take(limiter, {}, 0)
    expect(call).toMatchObject({ granted: 50, delayMs: 0 })
    if (call.allowed) await call.settle({})
    expect(await take(limiter, {}, 0)).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
  })

  it('denies until the floor fits, and allows at that very time', async () => {
    const bucket = tokenBucket({ name: 'b', limit: 60, window: '1m', ...TOKENS })
    const { limiter, clock } = setUp([bucket], { store: make() })
    const call = await take(limiter)
    expect(call).toMatchObject({ granted: 55 })
    if (call.allowed) await call.settle({})
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

  it.each([undefined, 1, 0.5, 0.25, 0.2, 0.05])(
    'is foreseen by peekFit, with a share of %s at most',
    async (maxShare) => {
      const limiter = limiterOf(
        tokensPerDay(1_000),
        slidingWindow({ name: 'minute', limit: 200, window: '1m', ...TOKENS }),
      )
      const fit = fitRange({ floor: 10, most: 100, rates: PER_TOKEN })
      const options = { cost: { token: 5 }, fit, ...(maxShare && { maxShare }) }
      for (let call = 0; call < 4; call += 1) {
        const foreseen = await peekFit(limiter, ACME, options)
        const decision = await reserve(limiter, ACME, options)
        const granted = decision.allowed ? decision.granted : undefined
        expect([foreseen.allowed, foreseen.granted]).toEqual([decision.allowed, granted])
      }
      const invalid = { ...options, maxShare: 0 }
      await expect(peekFit(limiter, ACME, invalid)).rejects.toMatchObject({ option: 'maxShare' })
    },
  )

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
