import { dailyCap, definePlans, fixedWindow, listen, slidingWindow } from '@sluice/core'
import type { Store } from '@sluice/core'
import { expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { setUp } from './case.ts'

const daily = (limit: number) => dailyCap({ name: 'daily', limit, per: ['tenant'] })
const rpm = (limit: number) => slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })
const burst = (limit: number) =>
  fixedWindow({ name: 'burst', limit, window: '10s', per: ['tenant'] })
const tokens = slidingWindow({
  name: 'tpm',
  limit: 1_000,
  window: '1m',
  per: ['tenant'],
  unit: 'token',
})

const MIDNIGHT_MS = Date.UTC(2026, 0, 16) - NOON

export function severalPolicies(make: () => Store): void {
  it('a request that one policy denies is charged in none, in any order of policies', async () => {
    for (const order of [
      [rpm(1), daily(10), burst(10)],
      [daily(10), rpm(1), burst(10)],
      [daily(10), burst(10), rpm(1)],
    ]) {
      const limiter = setUp(make(), order)
      await spend(limiter, 1)
      for (let time = 0; time < 3; time += 1) {
        expect(await limiter.check(ACME)).toMatchObject({ allowed: false })
      }
      expect(remaining(await limiter.peek(ACME))).toEqual({ rpm: 0, daily: 9, burst: 9 })
    }
  })
  it('the first policy that denies gives the reason, the longest wait the retry time', async () => {
    const store = make()
    const first = setUp(store, [daily(2), rpm(2), burst(2)])
    await spend(first, 2)
    const denied = await first.check(ACME)
    expect(denied).toMatchObject({
      reason: 'daily_quota_exceeded',
      violated: { name: 'daily' },
      retryAfterMs: MIDNIGHT_MS,
    })
    expect(denied.policies.map(({ retryAfterMs }) => retryAfterMs)).toEqual([
      MIDNIGHT_MS,
      60_000,
      10_000,
    ])
    expect(await setUp(store, [burst(2), rpm(2), daily(2)]).check(ACME)).toMatchObject({
      reason: 'rate_limit_exceeded',
      violated: { name: 'burst' },
      retryAfterMs: MIDNIGHT_MS,
    })
  })
  it('at the retry time of several policies all of them fit, and not a millisecond earlier', async () => {
    const limiter = setUp(make(), [burst(2), rpm(2)])
    await spend(limiter, 2)
    const { retryAfterMs } = await limiter.check(ACME)
    limiter.clock.advance((retryAfterMs ?? 0) - 1)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, violated: { name: 'rpm' } })
    limiter.clock.advance(1)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })
  it('a policy that can never fit is named before one that fits later', async () => {
    const limiter = setUp(make(), [daily(5), rpm(2)])
    await spend(limiter, 1)
    expect(await limiter.check(ACME, { cost: 5 })).toMatchObject({
      reason: 'cost_exceeds_limit',
      violated: { name: 'rpm', fits: false, retryAfterMs: null },
      retryAfterMs: null,
      policies: [{ fits: false, retryAfterMs: MIDNIGHT_MS }, { fits: false }],
    })
  })
  it('each policy is charged in its own unit; a request costs 1 by default', async () => {
    const limiter = setUp(make(), [rpm(3), tokens])
    const spent = await limiter.check(ACME, { cost: { token: 400 } })
    expect(remaining(spent)).toEqual({ rpm: 2, tpm: 600 })
    await limiter.check(ACME, { cost: { request: 0, token: 100 } })
    await limiter.check(ACME, { cost: { request: 2, token: 0 } })
    expect(remaining(await limiter.peek(ACME, { cost: { token: 0 } }))).toEqual({
      rpm: 0,
      tpm: 500,
    })
  })
  it('tokens that do not fit leave the requests uncharged', async () => {
    const limiter = setUp(make(), [rpm(3), tokens])
    await spend(limiter, 1, ACME, { cost: { token: 700 } })
    expect(await limiter.check(ACME, { cost: { token: 301 } })).toMatchObject({
      violated: { name: 'tpm', unit: 'token', cost: 301, remaining: 300 },
    })
    const left = await limiter.check(ACME, { cost: { token: 300 } })
    expect(remaining(left)).toEqual({ rpm: 1, tpm: 0 })
  })
  it('the largest costs are counted to the unit', async () => {
    const limit = 1_000_000_000_000
    for (const kind of [slidingWindow, fixedWindow]) {
      const limiter = setUp(make(), [kind({ name: 'usd', limit, window: '1h', per: 'global' })])
      await spend(limiter, 1, ACME, { cost: limit - 3 })
      await spend(limiter, 3)
      expect(await limiter.check(ACME)).toMatchObject({ allowed: false })
    }
  })
  it('a plan sets the limits; without a known one, the default plan does', async () => {
    const plans = definePlans({
      starter: { rpm: 2 },
      growth: { rpm: 4 },
      constructor: { rpm: 1 },
    })
    const byPlan = slidingWindow({
      name: 'rpm',
      limit: ({ plan }) => plan['rpm'],
      window: '1m',
      per: ['tenant'],
    })
    const limiter = setUp(make(), [byPlan], { plans, extensions: [listen({ problem: () => {} })] })
    const limitOf = async (plan?: string): Promise<unknown> => {
      const decision = await limiter.peek({ tenant: 'acme', plan })
      return [decision.plan, decision.policies[0]?.limit]
    }
    expect(await limitOf('growth')).toEqual(['growth', 4])
    expect(await limitOf('constructor')).toEqual(['constructor', 1])
    for (const none of [undefined, '', 'Growth', '__proto__', 'toString', 'hasOwnProperty']) {
      expect(await limitOf(none)).toEqual(['starter', 2])
    }
    const otherDefault = setUp(make(), [byPlan], {
      plans: definePlans({ starter: { rpm: 2 }, growth: { rpm: 4 } }, { defaultPlan: 'growth' }),
    })
    expect((await otherDefault.peek(ACME)).policies[0]?.limit).toBe(4)
  })
  it('a tenant that changes plan keeps what it has spent', async () => {
    const plans = definePlans({ starter: { rpm: 2 }, growth: { rpm: 4 } })
    const limiter = setUp(
      make(),
      [
        fixedWindow({
          name: 'rpm',
          limit: ({ plan }) => plan['rpm'],
          window: '1m',
          per: ['tenant'],
        }),
      ],
      { plans },
    )
    await spend(limiter, 2, { tenant: 'acme', plan: 'starter' })
    await spend(limiter, 2, { tenant: 'acme', plan: 'growth' })
    expect(await limiter.check({ tenant: 'acme', plan: 'growth' })).toMatchObject({
      allowed: false,
      plan: 'growth',
    })
  })
}
