import {
  concurrency,
  dailyCap,
  definePlans,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Limiter,
  type Policy,
  type PolicyRule,
} from '@sluice/core'
import { reservation, reserve, type ReserveDecision } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { mustReserve, setUpTokens } from './support.ts'

const common = { limit: 100, per: ['tenant'], unit: 'token' } as const
const logOf = (limit: number): Policy => {
  const { per, unit } = common
  const windows = { minute: { limit, window: '1m' } } as const
  const [rule] = slidingWindows({ name: 'log', windows, per, unit })() as [PolicyRule]
  const renamed = Object.freeze({ ...rule, name: 'p' })
  return (() => [renamed]) as Policy
}
const KINDS: Record<string, Policy> = {
  'a sliding window': slidingWindow({ name: 'p', window: '1m', ...common }),
  'a sliding window counter': slidingWindowCounter({
    name: 'p',
    window: '1m',
    segments: 3,
    ...common,
  }),
  'a fixed window': fixedWindow({ name: 'p', window: '1m', ...common }),
  'a daily cap': dailyCap({ name: 'p', ...common }),
  'a monthly cap': monthlyCap({ name: 'p', ...common }),
  'a session': sessionWindow({ name: 'p', idle: '1h', ...common }),
  'a session of an hour': sessionWindow({ name: 'p', length: '1h', ...common }),
  'a token bucket': tokenBucket({ name: 'p', window: '1h', ...common }),
  'a log': logOf(100),
  'a leaky bucket': leakyBucket({ name: 'p', window: '1h', burst: 100, ...common }),
}

const FREE = { name: 'free', limit: 10 ** 6, window: '1d', per: ['tenant'] } as const

/** Reserves so many tokens. */
const tokens = (limiter: Limiter, token: number) => mustReserve(limiter, ACME, { cost: { token } })

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  describe.each(Object.entries(KINDS))('%s', (_, policy) => {
    it('gives back unused units, once', async () => {
      const { limiter, left } = setUpTokens(make(), [policy])
      const decision = await tokens(limiter, 80)
      expect(await left()).toBe(20)
      const done = { applied: true, returned: { token: 50 }, overrun: {} }
      expect(await decision.settle({ token: 30 })).toEqual(done)
      expect(await left()).toBe(70)
      const before = { ...done, applied: false, why: 'settled_before' }
      expect(await decision.settle({ token: 1 })).toEqual(before)
      expect(await decision.cancel()).toEqual(before)
      expect(await left()).toBe(70)
    })
    it('charges use beyond the estimate, also past the limit, and never reports less than 0 remaining', async () => {
      const { limiter, left, clock } = setUpTokens(make(), [policy])
      await tokens(limiter, 60)
      const decision = await tokens(limiter, 20)
      const overrun = { applied: true, returned: {}, overrun: { token: 30 } }
      expect(await decision.settle({ token: 50 })).toEqual(overrun)
      expect(await left()).toBe(0)
      const denied = await limiter.check(ACME, { cost: { token: 1 } })
      expect(denied.allowed).toBe(false)
      clock.advance((denied.retryAfterMs ?? 0) - 1)
      expect((await limiter.peek(ACME, { cost: { token: 1 } })).allowed).toBe(false)
      clock.advance(1)
      expect((await limiter.peek(ACME, { cost: { token: 1 } })).allowed).toBe(true)
    })
    it('gives everything back when cancelled', async () => {
      const { limiter, left } = setUpTokens(make(), [policy])
      const decision = await tokens(limiter, 100)
      const denied = await reserve(limiter, ACME, { cost: { token: 1 } })
      expect(denied).toMatchObject({ allowed: false, violated: { name: 'p' } })
      expect(denied).not.toHaveProperty('settle')
      expect((await decision.cancel()).returned).toEqual({ token: 100 })
      expect(await left()).toBe(100)
    })
    it('keeps the estimate of unsettled calls and of units that are left out', async () => {
      const { limiter } = setUpTokens(make(), [policy, fixedWindow({ ...FREE, unit: 'usd' })])
      const cost = { token: 40, usd: 7 }
      const decision = await mustReserve(limiter, ACME, { cost })
      await reserve(limiter, ACME, { cost })
      await decision.settle({ usd: 3 })
      const peeked = await limiter.peek(ACME, { cost: { token: 0, usd: 0 } })
      expect(remaining(peeked)).toEqual({ p: 20, free: 10 ** 6 - 10 })
    })
    it('charges a unit whose estimate was 0', async () => {
      const { limiter, left } = setUpTokens(make(), [policy])
      const decision = await tokens(limiter, 0)
      expect((await decision.settle({ token: 30 })).overrun).toEqual({ token: 30 })
      expect(await left()).toBe(70)
    })
    it('can be settled from its JSON', async () => {
      const store = make()
      const { limiter, left } = setUpTokens(store, [policy])
      const text = JSON.stringify(await tokens(limiter, 80))
      expect(text).not.toContain('allowed')
      const elsewhere = setUpTokens(store, [policy]).limiter
      const done = await reservation(elsewhere, text).settle({ token: 10 })
      expect(done).toEqual({ applied: true, returned: { token: 70 }, overrun: {} })
      expect(await left()).toBe(90)
      expect((await reservation(elsewhere, JSON.parse(text)).cancel()).applied).toBe(false)
    })
    it('never makes the count negative when it is given back after a reset', async () => {
      const { limiter, left } = setUpTokens(make(), [policy])
      const decision = await tokens(limiter, 50)
      await limiter.reset(ACME)
      await tokens(limiter, 20)
      await decision.cancel()
      expect(await left()).toBeLessThanOrEqual(100)
      const state = await limiter.peek(ACME, { cost: { token: 1 } })
      expect(state).toMatchObject({ allowed: true, degraded: undefined })
      expect(state.policies[0]?.resetMs).toBeGreaterThan(0)
    })
    it('changes nothing when settled after its window has passed', async () => {
      const { limiter, left, clock } = setUpTokens(make(), [policy])
      const [early, late] = [await tokens(limiter, 50), await tokens(limiter, 40)]
      clock.advance(2 * (policy()[0]?.windowMs ?? 0))
      await tokens(limiter, 60)
      const before = await left()
      await early.settle({ token: 1 })
      await late.settle({ token: 40 })
      expect(await left()).toBe(before)
    })
  })

  it('allows no more of 64 concurrent ones than the budget has room for, and a lower settlement makes room', async () => {
    const { limiter, left } = setUpTokens(make(), [
      dailyCap({ ...common, name: 'p', limit: 1_000 }),
    ])
    const round = async (): Promise<ReserveDecision[]> =>
      Promise.all(Array.from({ length: 64 }, () => reserve(limiter, ACME, { cost: { token: 90 } })))
    let spent = 0
    for (let time = 0; time < 4; time += 1) {
      const allowed = (await round()).filter((decision) => decision.allowed)
      expect(allowed).toHaveLength(Math.floor((1_000 - spent) / 90))
      const used = await Promise.all(allowed.map((decision) => decision.settle({ token: 40 })))
      expect(used.every(({ applied }) => applied)).toBe(true)
      spent += 40 * allowed.length
      expect(await left()).toBe(1_000 - spent)
    }
  })

  it('exceeds the budget by no more than what 64 concurrent ones use beyond their estimates', async () => {
    const { limiter } = setUpTokens(make(), [dailyCap({ ...common, name: 'p', limit: 1_000 })])
    let [spent, overrun] = [0, 0]
    await Promise.all(
      Array.from({ length: 64 }, async (_, index) => {
        const decision = await reserve(limiter, ACME, { cost: { token: 50 } })
        if (!decision.allowed) return
        const used = index % 3 === 0 ? 75 : 30
        spent += used
        overrun += (await decision.settle({ token: used })).overrun['token'] ?? 0
      }),
    )
    expect(spent).toBeGreaterThan(800)
    expect(spent - overrun).toBeLessThanOrEqual(1_000)
  })

  it('skips a policy that counts in another way by now, and settles the others', async () => {
    const store = make()
    const calls = concurrency({ name: 'in-flight', limit: 2, per: ['tenant'] })
    const bucket = tokenBucket({ name: 'p', window: '1h', ...common })
    const decision = await mustReserve(setUpTokens(store, [bucket, calls]).limiter, ACME, {
      cost: { token: 40 },
    })
    const { limiter } = setUpTokens(store, [
      slidingWindow({ name: 'p', window: '1h', ...common }),
      calls,
    ])
    await tokens(limiter, 30)
    const done = await reservation(limiter, JSON.stringify(decision)).settle({ token: 1 })
    expect(done).toEqual({ applied: true, returned: { call: 1 }, overrun: {} })
    const peeked = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(remaining(peeked)).toEqual({ p: 70, 'in-flight': 1 })
  })

  it('settles an estimate of 0 in a bucket up to the largest number', async () => {
    const bucket = tokenBucket({ name: 'p', window: '30d', ...common, limit: 1 })
    const { limiter } = setUpTokens(make(), [bucket])
    const decision = await tokens(limiter, 0)
    expect((await decision.settle({ token: 10 ** 12 })).overrun).toEqual({ token: 10 ** 12 })
    const { policies } = await limiter.peek(ACME, { cost: { token: 1 } })
    expect(policies[0]?.retryAfterMs).toBeGreaterThan(0)
    expect(policies[0]?.retryAfterMs).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER)
  })

  it('corrects a bucket in terms of the limit that was charged', async () => {
    const plans = definePlans({ large: { tokens: 10_000 }, small: { tokens: 10 } })
    const bucket = tokenBucket({
      name: 'p',
      limit: ({ plan }) => plan['tokens'],
      window: '1h',
      per: ['tenant'],
      unit: 'token',
    })
    const { limiter, clock } = setUp([bucket], { store: make(), plans })
    const large = { tenant: 'acme', plan: 'large' }
    const small = { tenant: 'acme', plan: 'small' }
    const peek = async () => remaining(await limiter.peek(small, { cost: { token: 0 } }))['p']
    const decision = await mustReserve(limiter, large, { cost: { token: 5_000 } })
    await limiter.check(small, { cost: { token: 1 } })
    expect(await peek()).toBe(4)
    await decision.settle({ token: 7_000 })
    expect(await peek()).toBe(2)
    clock.advance(1_800_000)
    expect(await peek()).toBe(7)
  })

  it('a call in flight holds its slot until it is settled or cancelled', async () => {
    const calls = concurrency({ name: 'in-flight', limit: 2, per: ['tenant'], maxDuration: '30s' })
    const rpm = slidingWindow({ name: 'rpm', limit: 5, window: '1h', per: ['tenant'] })
    const { limiter, clock } = setUpTokens(make(), [calls, rpm])
    const ask = () => reserve(limiter, ACME)
    const [first, second] = [await mustReserve(limiter, ACME), await mustReserve(limiter, ACME)]
    const third = await ask()
    expect(third).toMatchObject({
      allowed: false,
      reason: 'concurrency_exceeded',
      retryAfterMs: 1_000,
      violated: { name: 'in-flight', unit: 'call', limit: 2, remaining: 0 },
    })
    await first.settle({})
    expect(remaining(await ask())).toEqual({ 'in-flight': 0, rpm: 2 })
    await second.cancel()
    expect(remaining(await ask())).toEqual({ 'in-flight': 0, rpm: 2 })
    // Their holders die.
    clock.advance(29_999)
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(remaining(await ask())).toEqual({ 'in-flight': 1, rpm: 1 })
    expect(remaining(await ask())).toEqual({ 'in-flight': 0, rpm: 0 })
    clock.advance(30_000)
    // Denied by another policy, it takes no slot.
    expect(await ask()).toMatchObject({ allowed: false, violated: { name: 'rpm' } })
    expect(remaining(await limiter.peek(ACME, { cost: 0 }))).toEqual({ 'in-flight': 2, rpm: 0 })
  })

  it('never has more of 64 concurrent calls in flight than there are slots', async () => {
    const calls = concurrency({ name: 'in-flight', limit: 5, per: ['tenant'] })
    const { limiter } = setUpTokens(make(), [calls])
    for (let time = 0; time < 5; time += 1) {
      const decisions = await Promise.all(Array.from({ length: 64 }, () => reserve(limiter, ACME)))
      const allowed = decisions.filter((decision) => decision.allowed)
      expect(allowed).toHaveLength(5)
      await Promise.all(allowed.map((decision) => decision.settle({})))
    }
  })
})
