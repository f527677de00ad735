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
  type Decision,
  type Limit,
  type Policy,
  type Store,
} from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUp } from './case.ts'

const common = { name: 'p', per: ['tenant'] } as const

/** A policy of every algorithm with a given limit. */
const KINDS: Readonly<Record<string, (limit: Limit) => Policy>> = {
  'a sliding window': (limit) => slidingWindow({ ...common, limit, window: '1m' }),
  'several sliding windows': (limit) =>
    slidingWindows({
      ...common,
      windows: { short: { limit, window: '10s' }, long: { limit, window: '1m' } },
    }),
  'a sliding window counter': (limit) =>
    slidingWindowCounter({ ...common, limit, window: '1m', segments: 6 }),
  'a token bucket': (limit) => tokenBucket({ ...common, limit, window: '1m' }),
  'a token bucket with a burst': (limit) =>
    tokenBucket({ ...common, limit, window: '1m', burst: 30 }),
  'a token bucket filled at intervals': (limit) =>
    tokenBucket({ ...common, limit, window: '1m', burst: 30, refill: 'interval' }),
  'a leaky bucket': (limit) => leakyBucket({ ...common, limit, window: '1m', burst: 30 }),
  'a leaky bucket with a longest wait': (limit) =>
    leakyBucket({ ...common, limit, window: '1m', burst: 30, wait: 5_000 }),
  'a fixed window': (limit) => fixedWindow({ ...common, limit, window: '1m' }),
  'a daily cap': (limit) => dailyCap({ ...common, limit }),
  'a monthly cap': (limit) => monthlyCap({ ...common, limit }),
  'a session window': (limit) => sessionWindow({ ...common, limit, idle: '1m' }),
  'calls in flight': (limit) => concurrency({ ...common, limit }),
}

/** The limit of a route. */
const byRoute: Limit = ({ route }) => (route === 'closed' ? 0 : route === 'open' ? 'unlimited' : 20)

const at = (route: string) => ({ ...ACME, route })

/** Expects a refusal that no time mends, all of whose numbers are finite. */
function refusedForEver(decision: Decision): void {
  expect(decision).toMatchObject({
    allowed: false,
    reason: 'cost_exceeds_limit',
    retryAfterMs: null,
    delayMs: 0,
    degraded: undefined,
  })
  for (const policy of decision.policies) {
    expect(policy).toMatchObject({
      limit: 0,
      burst: 0,
      remaining: 0,
      fits: false,
      charged: false,
      retryAfterMs: null,
    })
  }
  allFinite(decision)
}

function allFinite({ policies }: Decision): void {
  for (const policy of policies) {
    const numbers = Object.values(policy).filter((value) => typeof value === 'number')
    expect(numbers.every(Number.isSafeInteger)).toBe(true)
    expect(policy.resetMs).toBeGreaterThan(0)
  }
}

export function zeroLimits(make: () => Store): void {
  it.each(Object.entries(KINDS))('%s of 0 denies checks and reservations', async (_, policyOf) => {
    expect.hasAssertions()
    const limiter = setUp(make(), [policyOf(0)])
    for (let time = 0; time < 3; time += 1) {
      refusedForEver(await limiter.peek(ACME))
      refusedForEver(await limiter.check(ACME, { cost: 1 + time }))
      refusedForEver(await reserve(limiter, ACME))
      limiter.clock.advance(40_000)
    }
  })

  it.each(Object.entries(KINDS))(
    '%s of 0 denies a partition that has used another limit, and leaves its count unchanged',
    async (_, policyOf) => {
      const limiter = setUp(make(), [policyOf(byRoute)])
      const used = await reserve(limiter, at('other'))
      expect(used.allowed).toBe(true)
      refusedForEver(await limiter.check(at('closed')))
      refusedForEver(await reserve(limiter, at('closed')))
      const before = remaining(await limiter.peek(at('other')))
      limiter.clock.advance(1)
      refusedForEver(await limiter.check(at('closed')))
      limiter.clock.advance(-1)
      expect(remaining(await limiter.peek(at('other')))).toEqual(before)
    },
  )

  it.each(Object.entries(KINDS))(
    '%s of 0 in shadow mode reports that it would deny, and counts nothing',
    async (_, policyOf) => {
      const shadows = policyOf(0)().map((rule) => Object.freeze({ ...rule, mode: 'shadow' }))
      const limiter = setUp(make(), [(() => shadows) as Policy])
      for (let time = 0; time < 2; time += 1) {
        const decision = await limiter.check(ACME)
        expect(decision).toMatchObject({ allowed: true, retryAfterMs: 0, delayMs: 0 })
        for (const policy of decision.policies) {
          expect(policy).toMatchObject({ fits: false, charged: false, remaining: 0 })
        }
        allFinite(decision)
      }
    },
  )

  it.each(Object.entries(KINDS).filter(([kind]) => kind !== 'calls in flight'))(
    '%s of 0 lets a cost of 0 pass, and still denies after it was settled higher',
    async (_, policyOf) => {
      const limiter = setUp(make(), [policyOf(0)])
      const decision = await reserve(limiter, ACME, { cost: 0 })
      allFinite(decision)
      if (!decision.allowed) throw new Error('It is denied')
      expect((await decision.settle(3)).overrun).toEqual({ request: 3 })
      refusedForEver(await limiter.check(ACME))
      const peeked = await limiter.peek(ACME, { cost: 0 })
      expect(peeked).toMatchObject({ allowed: true, degraded: undefined })
      allFinite(peeked)
    },
  )

  it.each(Object.entries(KINDS))(
    '%s that is unlimited is reported as skipped',
    async (_, policyOf) => {
      const limiter = setUp(make(), [policyOf(byRoute)])
      const names = policyOf(byRoute)().map(({ name }) => name)
      const decision = await limiter.check(at('open'))
      expect(decision).toMatchObject({ allowed: true, policies: [] })
      expect(decision.skipped.map(({ name, why }) => [name, why])).toEqual(
        names.map((name) => [name, 'unlimited']),
      )
    },
  )
}
