import {
  backpressure,
  definePlans,
  fixedWindow,
  leakyBucket,
  rollout,
  sessionWindow,
  slidingWindow,
  tokenBucket,
  type FixedWindowOptions,
} from '@sluice/core'
import { defineManifest } from '@sluice/core/manifest'
import { describe, expect, it } from 'vitest'
import { countAllowed, limitsIn } from '../../support/decisions.ts'
import { limiterOf, loosely, rulesIn } from './support.ts'

const plans = definePlans({ starter: { rpm: 2, burst: 5 }, growth: { rpm: 6, burst: 9 } })
const rpm = { algorithm: 'fixedWindow', name: 'rpm', limit: 2, window: '1h' } as const

describe('a policy for every route', () => {
  it('counts every route, and a request without one', async () => {
    const limiter = limiterOf(
      defineManifest({ policies: [{ ...rpm, per: ['tenant'] }], routes: ['/a', '/b'] }),
    )
    expect((await limiter.check({ tenant: 'acme', route: '/a' })).allowed).toBe(true)
    expect((await limiter.check({ tenant: 'acme', route: '/elsewhere' })).allowed).toBe(true)
    expect((await limiter.check({ tenant: 'acme' })).allowed).toBe(false)
  })

  it('may be made by a factory', async () => {
    const made = slidingWindow({ name: 'made', limit: 1, window: '1m', per: 'global' })
    const limiter = limiterOf(defineManifest({ policies: [made], routes: ['/a'] }))
    expect(await countAllowed(limiter, { route: '/a' })).toBe(1)
  })

  it('may be for some of the routes only', async () => {
    const limiter = limiterOf(
      defineManifest({
        policies: [{ ...rpm, per: 'global', routes: ['a'] }],
        routes: [{ path: '/a', id: 'a' }, '/b'],
      }),
    )
    expect(await countAllowed(limiter, { route: '/b' })).toBe(20)
    expect(await countAllowed(limiter, { route: 'a' })).toBe(2)
  })

  it('has every option that its factory has', () => {
    const options: FixedWindowOptions = {
      name: 'x',
      limit: 7,
      per: ['user'],
      unit: 'token',
      scope: 'user',
      onMissing: 'skip',
      mode: 'shadow',
      rollout: rollout({ enabled: 50 }),
      stripes: 2,
      backpressure: backpressure({ from: 0.5, maxMs: 100 }),
      window: '1h',
    }
    for (const [algorithm, factory] of [
      ['fixedWindow', fixedWindow],
      ['slidingWindow', slidingWindow],
      ['tokenBucket', tokenBucket],
    ] as const) {
      const { policies } = loosely({ policies: [{ algorithm, ...options }], routes: ['/a'] })
      expect(rulesIn({ policies })).toEqual(factory(options)())
    }
    const bucket = {
      name: 'x',
      limit: 5,
      window: '1s',
      burst: 9,
      wait: '2s',
      per: 'global',
    } as const
    const leaky = { policies: [{ algorithm: 'leakyBucket', ...bucket }], routes: ['/a'] } as const
    expect(rulesIn(defineManifest(leaky))).toEqual(leakyBucket(bucket)())
    for (const end of [{ idle: '30m' }, { length: '5h' }, { length: '5h', idle: '30m' }] as const) {
      const run = { name: 'run', limit: 5, per: ['run'], ...end } as const
      const session = {
        policies: [{ algorithm: 'sessionWindow', ...run }],
        routes: ['/a'],
      } as const
      expect(rulesIn(defineManifest(session))).toEqual(sessionWindow(run)())
    }
  })

  it('has rollout and backpressure as plain data, as in JSON', async () => {
    const manifest = loosely({
      policies: [
        {
          algorithm: 'fixedWindow',
          name: 'rpm',
          limit: 4,
          window: '1m',
          per: ['tenant'],
          rollout: { enforced: 0 },
        },
        {
          algorithm: 'fixedWindow',
          name: 'slow',
          limit: 2,
          window: '1m',
          per: ['tenant'],
          backpressure: { from: 0.5, maxMs: 100 },
        },
      ],
      routes: ['/a'],
    })
    const limiter = limiterOf(manifest)
    await limiter.check({ tenant: 'acme', route: '/a' })
    const { policies, delayMs } = await limiter.check({ tenant: 'acme', route: '/a' })
    expect(policies.map(({ enforced }) => enforced)).toEqual([false, true])
    expect(delayMs).toBe(100)
  })

  it('with several windows makes a policy of each', async () => {
    const windows = {
      minute: { limit: { plan: 'rpm' }, window: '1m' },
      day: { limit: 4, window: '1d' },
    } as const
    const manifest = defineManifest({
      policies: [{ algorithm: 'slidingWindows', name: 'project', windows, per: ['tenant'] }],
      routes: ['/a'],
    })
    const limiter = limiterOf(manifest, { plans })
    expect(limitsIn(await limiter.check({ tenant: 'acme', route: '/a' }))).toEqual({
      'project.minute': 2,
      'project.day': 4,
    })
  })
})

describe('a limit of the plan, by its name', () => {
  const manifest = defineManifest({
    policies: [
      {
        algorithm: 'tokenBucket',
        name: 'bucket',
        limit: { plan: 'rpm' },
        burst: { plan: 'burst' },
        window: '1h',
        per: ['tenant'],
      },
    ],
    routes: ['/a'],
  })

  it('is the limit of the subject’s plan', async () => {
    const limiter = limiterOf(manifest, { plans })
    expect(await countAllowed(limiter, { tenant: 'one', route: '/a' })).toBe(5)
    expect(await countAllowed(limiter, { tenant: 'two', route: '/a', plan: 'growth' })).toBe(9)
    const decision = await limiter.peek({ tenant: 'two', plan: 'growth' })
    expect(decision.policies[0]).toMatchObject({ limit: 6, burst: 9 })
  })

  it.each(['rmp', 'constructor', 'toString', '__proto__'])(
    'is an error when the limiter is created if no plan has it: %s',
    (plan) => {
      const wrong = defineManifest({
        policies: [{ ...rpm, limit: { plan }, per: ['tenant'] }],
        routes: ['/a'],
      })
      const error = { name: 'ConfigError', option: 'manifest.policies[0].limit.plan' }
      expect(() => limiterOf(wrong, { plans })).toThrow(expect.objectContaining(error))
      expect(() => limiterOf(wrong)).toThrow(expect.objectContaining(error))
    },
  )
})

describe('a policy of one route', () => {
  const made = fixedWindow({ name: 'made', limit: 1, window: '1h', per: 'global' })

  it('counts requests to it, and to no other', async () => {
    const on = limiterOf(
      defineManifest({
        policies: [{ ...rpm, limit: 9, per: ['tenant'] }],
        routes: [
          { path: '/a', id: 'a', policies: [{ ...rpm, name: 'own', per: ['tenant'] }] },
          { path: '/b', policies: [made] },
          '/c',
        ],
      }),
    )
    expect(limitsIn(await on.check({ tenant: 'acme', route: 'a' }))).toEqual({ rpm: 9, own: 2 })
    expect(limitsIn(await on.check({ tenant: 'acme', route: '/b' }))).toEqual({ rpm: 9, made: 1 })
    expect(limitsIn(await on.check({ tenant: 'acme', route: '/c' }))).toEqual({ rpm: 9 })
    expect(limitsIn(await on.check({ tenant: 'acme' }))).toEqual({ rpm: 9 })
    expect(await countAllowed(on, { tenant: 'acme', route: 'a' })).toBe(1)
    expect(await countAllowed(on, { tenant: 'acme', route: '/b' })).toBe(0)
  })
})
