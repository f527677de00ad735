import {
  dailyCap,
  fixedWindow,
  leakyBucket,
  monthlyCap,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import type { Store } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { setUp } from './case.ts'

interface Kind {
  readonly policy: Policy
  /**
   * The time at which one unit fits again after 3 were spent at noon, and the units left after it.
   */
  readonly endsAt: number
  readonly leftThen: number
  readonly reason: string
}

const common = { name: 'p', limit: 3, per: ['tenant'] }
const rate = { reason: 'rate_limit_exceeded' }

const KINDS: Record<string, Kind> = {
  'a sliding window': {
    policy: slidingWindow({ ...common, window: '10s' }),
    endsAt: NOON + 10_000,
    leftThen: 2,
    ...rate,
  },
  'a sliding window counter': {
    policy: slidingWindowCounter({ ...common, window: '10s' }),
    // Of 3 units in a segment, 2 are counted when 6,666 ms of it are left.
    endsAt: NOON + 13_334,
    leftThen: 0,
    ...rate,
  },
  'a sliding window counter of 10 segments': {
    policy: slidingWindowCounter({ ...common, window: '10s', segments: 10 }),
    endsAt: NOON + 10_334,
    leftThen: 0,
    ...rate,
  },
  'a token bucket': {
    policy: tokenBucket({ ...common, window: '10s' }),
    endsAt: NOON + 3_334,
    leftThen: 0,
    ...rate,
  },
  'a token bucket that is refilled at intervals': {
    policy: tokenBucket({ ...common, window: '20s', refill: 'interval' }),
    endsAt: NOON + 10_000,
    leftThen: 2,
    ...rate,
  },
  'a leaky bucket': {
    policy: leakyBucket({ ...common, window: '10s', burst: 3 }),
    endsAt: NOON + 3_334,
    leftThen: 0,
    ...rate,
  },
  'a fixed window': {
    policy: fixedWindow({ ...common, window: '1m' }),
    endsAt: NOON + 30_000,
    leftThen: 2,
    ...rate,
  },
  'a daily cap': {
    policy: dailyCap(common),
    endsAt: Date.UTC(2026, 0, 16),
    leftThen: 2,
    reason: 'daily_quota_exceeded',
  },
  'a session window': {
    policy: sessionWindow({ ...common, idle: '10s' }),
    endsAt: NOON + 10_000,
    leftThen: 2,
    ...rate,
  },
  'a session of a length': {
    policy: sessionWindow({ ...common, length: '10s' }),
    endsAt: NOON + 10_000,
    leftThen: 2,
    ...rate,
  },
  'a session of a length with pauses': {
    policy: sessionWindow({ ...common, length: '10s', idle: '15s' }),
    endsAt: NOON + 10_000,
    leftThen: 2,
    ...rate,
  },
  'a monthly cap': {
    policy: monthlyCap(common),
    endsAt: Date.UTC(2026, 1, 1),
    leftThen: 2,
    reason: 'monthly_quota_exceeded',
  },
}

function perKind(make: () => Store): void {
  describe.each(Object.entries(KINDS))('%s', (_, { policy, endsAt, leftThen, reason }) => {
    it('allows its limit and denies the next, with a reason and a retry time', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 3)
      const { place, ...denied } = await limiter.check(ACME)
      // Only stores of several places name it.
      expect([undefined, 'tenant=acme', 'db0', 'db1', 'db2', 'db3', 'here']).toContain(place)
      expect(denied).toEqual({
        allowed: false,
        reason,
        retryAfterMs: endsAt - NOON,
        at: NOON,
        source: expect.stringMatching(/^(store|memory)$/),
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
            windowMs: policy()[0]?.windowMs,
            resetMs: endsAt - NOON,
            fits: false,
            charged: false,
            enforced: true,
            delayMs: 0,
            retryAfterMs: endsAt - NOON,
            reason,
          },
        ],
      })
    })
    it('denies just before the retry time and allows at it', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 3)
      limiter.clock.set(endsAt - 1)
      expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
      limiter.clock.set(endsAt)
      expect(remaining(await limiter.check(ACME))).toEqual({ p: leftThen })
    })
    it('adds nothing for a denied request', async () => {
      const limiter = setUp(make(), [policy])
      await spend(limiter, 1, ACME, { cost: 2 })
      for (let time = 0; time < 5; time += 1) {
        expect(await limiter.check(ACME, { cost: 2 })).toMatchObject({ allowed: false })
      }
      expect(remaining(await limiter.check(ACME))).toEqual({ p: 0 })
    })
    it('reports in a peek what a check would, and charges nothing', async () => {
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
    it('never fits a cost above its limit, even when all of it is free', async () => {
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
  it('a sliding window has no border: units come back as each entry expires', async () => {
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
  it('a limit lowered below the usage denies, and never reports less than 0 remaining', async () => {
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

  it('a clock that steps back by more than a window does not bring back removed entries', async () => {
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
