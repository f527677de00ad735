import { definePlans } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { defineManifest } from '@sluice/core/manifest'
import { describe, expect, it } from 'vitest'
import { countAllowed } from '../../support/decisions.ts'
import { setUp } from '../../support/limiters.ts'
import { limiterOf, rulesIn } from './support.ts'

const plans = definePlans({ starter: { rpm: 2, burst: 5 }, growth: { rpm: 6, burst: 9 } })

const rpmOf = (plan: string) =>
  defineManifest({ routes: [{ path: '/a', id: 'a', rpm: { plan }, per: ['tenant'] }] })

describe('rpm of a route', () => {
  it('is a token bucket of that many a minute, for everyone together', async () => {
    const manifest = defineManifest({
      routes: [
        { path: '/a', id: 'a', rpm: 3, burst: 5 },
        { path: '/b', id: 'b', rpm: 2 },
        { path: '/c', id: 'c' },
      ],
    })
    expect(rulesIn(manifest).map(({ name, scope }) => [name, scope])).toEqual([
      ['rpm-per-route', 'route'],
    ])
    const limiter = limiterOf(manifest)
    expect(await countAllowed(limiter, { tenant: 'one', route: 'a' })).toBe(5)
    expect(await countAllowed(limiter, { tenant: 'two', route: 'a' })).toBe(0)
    expect(await countAllowed(limiter, { tenant: 'two', route: 'b' })).toBe(2)
    const [state] = (await limiter.peek({ route: 'a' })).policies
    expect(state).toMatchObject({ limit: 3, burst: 5, windowMs: 60_000 })
  })

  it.each([0, -1])('of %d means no limit, as if it were absent', async (none) => {
    const limiter = limiterOf(
      defineManifest({
        routes: [
          { path: '/a', id: 'a', rpm: none },
          { path: '/b', rpm: 1 },
        ],
      }),
    )
    const decision = await limiter.check({ route: 'a' })
    expect([decision.allowed, decision.policies]).toEqual([true, []])
    expect(await countAllowed(limiter, { route: '/c' })).toBe(20)
  })

  it.each([0, 60])('of %d takes its burst from the configured limit', async (rpm) => {
    const { policies } = defineManifest({ routes: [{ path: '/a', id: 'a', rpm }] })
    const extensions = [runtimeConfiguration({ allow: { 'rpm-per-route': ['limit'] } })]
    const { limiter } = setUp(policies, { extensions })
    await configure(limiter, { 'rpm-per-route': { limit: 5 } })
    expect(await countAllowed(limiter, { route: 'a' })).toBe(5)
  })

  it('may count the requests of each subject to the route', async () => {
    const manifest = defineManifest({
      routes: [
        { path: '/a', id: 'a', rpm: 3, per: ['user'] },
        { path: '/b', id: 'b', rpm: 1, per: ['user'] },
        { path: '/c', id: 'c', rpm: 2 },
      ],
    })
    expect(rulesIn(manifest).map(({ name, scope }) => [name, scope])).toEqual([
      ['rpm-per-route', 'route'],
      ['rpm-per-user-route', 'user'],
    ])
    const limiter = limiterOf(manifest)
    expect(await countAllowed(limiter, { user: 'ann', route: 'a' })).toBe(3)
    expect(await countAllowed(limiter, { user: 'bob', route: 'a' })).toBe(3)
    expect(await countAllowed(limiter, { user: 'ann', route: 'b' })).toBe(1)
    expect(await countAllowed(limiter, { route: 'c' })).toBe(2)
  })

  it('denies by the limit of the route before that of a user, and says which', async () => {
    const manifest = defineManifest({
      policies: [
        {
          algorithm: 'slidingWindow',
          name: 'mine',
          limit: 2,
          window: '1m',
          per: ['user'],
          onMissing: 'skip',
        },
      ],
      routes: [{ path: '/a', id: 'a', rpm: 3 }],
    })
    const limiter = limiterOf(manifest)
    const scopeOf = async (user?: string) => {
      const { violated } = await limiter.check({ route: 'a', ...(user && { user }) })
      return violated?.scope
    }
    expect([await scopeOf('ann'), await scopeOf('ann'), await scopeOf('ann')]).toEqual([
      undefined,
      undefined,
      'user',
    ])
    expect([await scopeOf(), await scopeOf(), await scopeOf('ann')]).toEqual([
      undefined,
      'route',
      'route',
    ])
  })

  it('of a user leaves out who has none, where another policy limits the route', async () => {
    const ofRoute = {
      algorithm: 'fixedWindow',
      name: 'all',
      limit: 5,
      window: '1h',
      per: ['route'],
    } as const
    const route = { path: '/a', id: 'a', rpm: 2, per: ['user'] } as const
    const both = limiterOf(defineManifest({ policies: [ofRoute], routes: [route] }))
    expect(await countAllowed(both, { user: 'ann', route: 'a' })).toBe(2)
    expect(await countAllowed(both, { route: 'a' })).toBe(3)
    // On one of these two routes, nothing would limit it.
    const own = {
      algorithm: 'fixedWindow',
      name: 'own',
      limit: 5,
      window: '1h',
      per: 'global',
    } as const
    const routes = [
      { ...route, policies: [own] },
      { ...route, path: '/b', id: 'b' },
    ]
    const limiter = limiterOf(defineManifest({ routes }))
    const refused = { code: 'missing_dimension', input: 'subject.user' }
    await expect(limiter.check({ route: 'a' })).rejects.toMatchObject(refused)
    await expect(
      limiterOf(defineManifest({ routes: [route] })).check({ route: 'a' }),
    ).rejects.toMatchObject(refused)
  })

  it('may be a limit of the plan, and is an error of the limiter if it is missing', async () => {
    const limiter = limiterOf(rpmOf('rpm'), { plans })
    expect(await countAllowed(limiter, { tenant: 'acme', route: 'a', plan: 'growth' })).toBe(6)
    expect(() => limiterOf(rpmOf('rmp'), { plans })).toThrow(
      expect.objectContaining({ option: 'manifest.routes[0].rpm.plan' }),
    )
  })

  it('of a plan or a function has the usual meaning: 0 allows nothing', async () => {
    const tiers = definePlans({ none: { rpm: 0 }, all: { rpm: 'unlimited' } })
    const manifest = defineManifest({
      routes: [
        { path: '/a', id: 'a', rpm: { plan: 'rpm' } },
        { path: '/b', id: 'b', rpm: ({ plan }) => plan['rpm'] },
      ],
    })
    const limiter = limiterOf(manifest, { plans: tiers })
    for (const route of ['a', 'b']) {
      expect(await limiter.check({ route, plan: 'none' })).toMatchObject({
        allowed: false,
        reason: 'cost_exceeds_limit',
      })
      expect(await limiter.check({ route, plan: 'all' })).toMatchObject({
        allowed: true,
        skipped: [{ name: 'rpm-per-route', why: 'unlimited' }],
      })
    }
    expect(() => limiterOf(defineManifest({ routes: [{ path: '/a', rpm: () => -1 }] }))).toThrow(
      'must be a whole number from 0',
    )
  })
})
