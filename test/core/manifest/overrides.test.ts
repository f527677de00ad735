import { definePlans } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { defineManifest, type ManifestRoute } from '@sluice/core/manifest'
import { describe, expect, it } from 'vitest'
import { countAllowed } from '../../support/decisions.ts'
import { setUp } from '../../support/limiters.ts'
import { limiterOf, loosely } from './support.ts'

const plans = definePlans({ starter: { rpm: 2, burst: 5 }, growth: { rpm: 6, burst: 9 } })
const rpm = { algorithm: 'fixedWindow', name: 'rpm', limit: 2, window: '1h' } as const

describe('an override', () => {
  const routes = [
    { path: '/a', id: 'a' },
    { path: '/b', id: 'b', overrides: { rpm: { limit: 5 } } },
    { path: '/c', id: 'c', overrides: { rpm: false } },
  ] as const

  it('sets another limit on that route, in the same count', async () => {
    const limiter = limiterOf(
      defineManifest({ policies: [{ ...rpm, per: ['tenant'] }], routes: routes.slice(0, 2) }),
    )
    const tenant = 'acme'
    expect(await countAllowed(limiter, { tenant, route: 'a' })).toBe(2)
    expect(await countAllowed(limiter, { tenant, route: 'b' })).toBe(3)
    expect(await countAllowed(limiter, { tenant, route: 'a' })).toBe(0)
    expect(await countAllowed(limiter, { tenant: 'other' })).toBe(2)
  })

  it('sets another limit in a separate count if routes are counted separately', async () => {
    const limiter = limiterOf(
      defineManifest({ policies: [{ ...rpm, per: ['tenant', 'route'] }], routes }),
    )
    const tenant = 'acme'
    expect(await countAllowed(limiter, { tenant, route: 'a' })).toBe(2)
    expect(await countAllowed(limiter, { tenant, route: 'b' })).toBe(5)
  })

  it('of false leaves the policy out: nothing is counted, and no dimension is missed', async () => {
    const limiter = limiterOf(defineManifest({ policies: [{ ...rpm, per: ['tenant'] }], routes }))
    expect(await countAllowed(limiter, { route: 'c' })).toBe(20)
    expect((await limiter.peek({ route: 'c' })).skipped).toEqual([
      { name: 'rpm', scope: 'tenant', why: 'other_route' },
    ])
    expect(await countAllowed(limiter, { tenant: 'acme', route: 'a' })).toBe(2)
    await expect(limiter.check({ route: 'a' })).rejects.toThrow('subject.tenant')
  })

  it('of false takes one route out of a policy of several', async () => {
    const limiter = limiterOf(
      defineManifest({
        policies: [{ ...rpm, per: 'global', routes: ['b', 'c'] }],
        routes: [
          { path: '/a', id: 'a' },
          { path: '/b', id: 'b' },
          { path: '/c', id: 'c', overrides: { rpm: false } },
        ],
      }),
    )
    const counted = []
    for (const route of ['a', 'b', 'c']) {
      if ((await limiter.peek({ route })).policies.length > 0) counted.push(route)
    }
    expect(counted).toEqual(['b'])
  })

  it('of a bucket may be its burst, its limit, or both', async () => {
    const bucket = { algorithm: 'tokenBucket', name: 'rpm', limit: 2, window: '1h' } as const
    const limiter = limiterOf(
      defineManifest({
        policies: [{ ...bucket, per: ['route'] }],
        routes: [
          { path: '/a', id: 'a' },
          { path: '/b', id: 'b', overrides: { rpm: { burst: 7 } } },
          { path: '/c', id: 'c', overrides: { rpm: { limit: 3 } } },
          { path: '/d', id: 'd', overrides: { rpm: { limit: 3, burst: 9 } } },
        ],
      }),
    )
    const found = []
    for (const route of ['a', 'b', 'c', 'd']) {
      const [state] = (await limiter.check({ route })).policies
      found.push([state?.limit, state?.burst])
    }
    expect(found).toEqual([
      [2, 2],
      [2, 7],
      [3, 3],
      [3, 9],
    ])
  })

  it('may be a limit of the plan or a function', async () => {
    const limiter = limiterOf(
      defineManifest({
        policies: [{ ...rpm, limit: 1, per: ['tenant', 'route'] }],
        routes: [
          { path: '/a', id: 'a', overrides: { rpm: { limit: { plan: 'rpm' } } } },
          {
            path: '/b',
            id: 'b',
            overrides: { rpm: { limit: ({ plan }) => Number(plan['rpm']) * 2 } },
          },
        ],
      }),
      { plans },
    )
    const subject = { tenant: 'acme', plan: 'growth' }
    expect(await countAllowed(limiter, { ...subject, route: 'a' })).toBe(6)
    expect(await countAllowed(limiter, { ...subject, route: 'b' })).toBe(12)
  })

  it.each([false, { limit: 'unlimited' }] as const)(
    'of %j leaves out all windows of a log, or none',
    async (none) => {
      const windows = {
        minute: { limit: 2, window: '1m' },
        hour: { limit: 5, window: '1h' },
      } as const
      const policies = [
        { algorithm: 'slidingWindows', name: 'p', windows, per: ['tenant'] },
      ] as const
      const of = (overrides: NonNullable<ManifestRoute['overrides']>) =>
        defineManifest({
          policies,
          routes: [
            { path: '/a', id: 'a' },
            { path: '/b', id: 'b', overrides },
          ],
        })
      expect(() => of({ 'p.minute': none })).toThrow(
        'manifest.routes[1].overrides.p.minute: must leave out p.minute, p.hour together',
      )
      expect(() => of({ 'p.minute': none, 'p.hour': { limit: 9 } })).toThrow(
        'must leave out p.minute, p.hour together',
      )
      const limiter = limiterOf(of({ 'p.minute': none, 'p.hour': none }))
      const tenant = 'acme'
      expect(await countAllowed(limiter, { tenant, route: 'b' })).toBe(20)
      expect(await countAllowed(limiter, { tenant, route: 'a' })).toBe(2)
    },
  )

  it('of a bucket lets the burst on other routes follow the configured limit', async () => {
    const { policies } = defineManifest({
      policies: [
        {
          algorithm: 'tokenBucket',
          name: 'rpm',
          limit: 60,
          window: '1m',
          per: ['tenant', 'route'],
        },
      ],
      routes: [
        { path: '/a', id: 'a' },
        { path: '/b', id: 'b', overrides: { rpm: { burst: 9 } } },
      ],
    })
    const extensions = [runtimeConfiguration({ allow: { rpm: ['limit'] } })]
    const { limiter } = setUp(policies, { extensions })
    await configure(limiter, { rpm: { limit: 5 } })
    expect(await countAllowed(limiter, { tenant: 'acme', route: 'a' })).toBe(5)
    expect(await countAllowed(limiter, { tenant: 'acme', route: 'b' })).toBe(9)
  })

  it.each([
    ['unlimited', 20],
    [0, 0],
  ] as const)('of %j is the limit of that route', async (limit, count) => {
    const limiter = limiterOf(
      defineManifest({
        policies: [{ ...rpm, per: ['tenant'] }],
        routes: [{ path: '/a', id: 'a', overrides: { rpm: { limit } } }],
      }),
    )
    expect(await countAllowed(limiter, { tenant: 'acme', route: 'a' })).toBe(count)
  })

  it.each([
    ['for every route', { rpm: { limit: { plan: 'rmp' } } }, {}],
    ['for every route but one', { rpm: { limit: { plan: 'rmp' } } }, { rpm: false }],
  ])('of a plan limit that no plan has is an error of the limiter: %s', (_, first, second) => {
    const manifest = loosely({
      policies: [{ ...rpm, per: ['tenant'] }],
      routes: [
        { path: '/a', overrides: first },
        { path: '/b', overrides: second },
      ],
    })
    expect(() => limiterOf(manifest, { plans })).toThrow(
      expect.objectContaining({ option: 'manifest.routes[0].overrides.rpm.limit.plan' }),
    )
  })
})
