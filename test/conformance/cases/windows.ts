import { dailyCap, fixedWindow, monthlyCap, slidingWindow, type Policy } from '@sluice/core'
import type { Store } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { ACME, NOON, remaining, setUp, spend } from './case.ts'

const KINDS: Record<string, { policy: Policy; endsAt: number; reason: string }> = {
  'a sliding window': {
    policy: slidingWindow({ name: 'p', limit: 3, window: '10s', per: ['tenant'] }),
    endsAt: NOON + 10_000,
    reason: 'rate_limit_exceeded',
  },
  'a fixed window': {
    policy: fixedWindow({ name: 'p', limit: 3, window: '1m', per: ['tenant'] }),
    endsAt: NOON + 30_000,
    reason: 'rate_limit_exceeded',
  },
  'a daily cap': {
    policy: dailyCap({ name: 'p', limit: 3, per: ['tenant'] }),
    endsAt: Date.UTC(2026, 0, 16),
    reason: 'daily_quota_exceeded',
  },
  'a monthly cap': {
    policy: monthlyCap({ name: 'p', limit: 3, per: ['tenant'] }),
    endsAt: Date.UTC(2026, 1, 1),
    reason: 'monthly_quota_exceeded',
  },
}

function perKind(make: () => Store): void {
  describe.each(Object.entries(KINDS))('%s', (_, { policy, endsAt, reason }) => {
    it('allows its limit and denies the next, with when and why', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 3)
      expect(await limiter.check(ACME)).toEqual({
        allowed: false,
        reason,
        retryAfterMs: endsAt - NOON,
        at: NOON,
        delayMs: 0,
        skipped: [],
        plan: undefined,
        planSource: undefined,
        degraded: undefined,
        violated: expect.objectContaining({ name: 'p' }),
        policies: [
          {
            name: 'p',
            scope: 'tenant',
            unit: 'request',
            limit: 3,
            burst: 3,
            remaining: 0,
            cost: 1,
            windowMs: policy.windowMs,
            resetMs: endsAt - NOON,
            fits: false,
            enforced: true,
            delayMs: 0,
            retryAfterMs: endsAt - NOON,
            reason,
          },
        ],
      })
    })
    it('does not let one request in just before the retry time, and does at it', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 3)
      limiter.clock.set(endsAt - 1)
      expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
      limiter.clock.set(endsAt)
      expect(remaining(await limiter.check(ACME))).toEqual({ p: 2 })
    })
    it('adds nothing for a denied request', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 1, ACME, { cost: 2 })
      for (let time = 0; time < 5; time += 1) {
        expect(await limiter.check(ACME, { cost: 2 })).toMatchObject({ allowed: false })
      }
      expect(remaining(await limiter.check(ACME))).toEqual({ p: 0 })
    })
    it('tells in a peek what a check would, and charges nothing', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 2)
      for (let time = 0; time < 5; time += 1) {
        const peeked = await limiter.peek(ACME)
        expect(peeked).toMatchObject({ allowed: true })
        expect(remaining(peeked)).toEqual({ p: 1 })
      }
      expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
      expect(await limiter.peek(ACME)).toEqual(await limiter.check(ACME))
    })
    it('starts afresh after a reset', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 3)
      await limiter.reset(ACME)
      expect(remaining(await limiter.check(ACME))).toEqual({ p: 2 })
    })
    it('never fits a cost above its limit, whatever is free', async () => {
      const limiter = setUp(make(), [policy])
      const never = { allowed: false, reason: 'cost_exceeds_limit', retryAfterMs: null }
      expect(await limiter.check(ACME, { cost: 4 })).toMatchObject(never)
      await spend(limiter, 3)
      expect(await limiter.check(ACME, { cost: 4 })).toMatchObject(never)
      expect(await limiter.check(ACME, { cost: 1_000_000_000_000 })).toMatchObject(never)
    })
    it('always fits a cost of 0, and adds nothing for it', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 2, ACME, { cost: 0 })
      expect(remaining(await limiter.peek(ACME))).toEqual({ p: 3 })
      await spend(limiter, 3)
      const free = await limiter.check(ACME, { cost: 0 })
      expect(free).toMatchObject({ allowed: true, retryAfterMs: 0 })
      expect(free.policies[0]).toMatchObject({ remaining: 0, cost: 0, resetMs: endsAt - NOON })
    })
  })
}

export function windows(make: () => Store): void {
  perKind(make)
  it('a sliding window has no border: what was spent comes back as each entry expires', async () => {
    const limiter = setUp(make(), [
      slidingWindow({ name: 'p', limit: 3, window: '10s', per: ['tenant'] }),
    ])
    await spend(limiter, 1)
    limiter.clock.advance(4_000)
    await spend(limiter, 1, ACME, { cost: 2 })
    expect(await limiter.check(ACME, { cost: 1 })).toMatchObject({ retryAfterMs: 6_000 })
    expect(await limiter.check(ACME, { cost: 2 })).toMatchObject({ retryAfterMs: 10_000 })
    limiter.clock.advance(6_000)
    expect(remaining(await limiter.check(ACME))).toEqual({ p: 0 })
    expect(await limiter.check(ACME)).toMatchObject({ retryAfterMs: 4_000 })
  })
  it('a fixed window starts afresh at its border, however close', async () => {
    const limiter = setUp(make(), [
      fixedWindow({ name: 'p', limit: 2, window: '1m', per: ['tenant'] }),
    ])
    limiter.clock.set(Date.UTC(2026, 0, 15, 12, 0, 59, 999))
    await spend(limiter, 2)
    limiter.clock.advance(1)
    await spend(limiter, 2)
    expect(await limiter.check(ACME)).toMatchObject({ retryAfterMs: 60_000 })
  })
  it('a limit lowered below what was used denies, and never tells of less than 0 left', async () => {
    const store = make()
    for (const kind of [slidingWindow, fixedWindow]) {
      const policy = (limit: number): Policy =>
        kind({ name: kind.name, limit, window: '1h', per: ['tenant'] })
      await spend(setUp(store, [policy(10)]), 8)
      const lowered = await setUp(store, [policy(5)]).check(ACME)
      expect(lowered).toMatchObject({ allowed: false, reason: 'rate_limit_exceeded' })
      expect(remaining(lowered)).toEqual({ [kind.name]: 0 })
    }
  })

  it('a clock that steps back by more than a window finds what was removed meanwhile still gone', async () => {
    const limiter = setUp(make(), [
      slidingWindow({ name: 'p', limit: 10, window: '10s', per: ['tenant'] }),
    ])
    await spend(limiter, 1)
    limiter.clock.advance(15_000)
    await spend(limiter, 5)
    limiter.clock.advance(5_000)
    await spend(limiter, 1)
    limiter.clock.set(NOON - 5_000)
    await spend(limiter, 1)
    limiter.clock.set(NOON + 6_000)
    expect(remaining(await limiter.peek(ACME))).toEqual({ p: 4 })
  })
}
