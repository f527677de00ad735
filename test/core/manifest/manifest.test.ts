import {
  backpressure,
  definePlans,
  fixedWindow,
  leakyBucket,
  rollout,
  slidingWindow,
  tokenBucket,
  type FixedWindowOptions,
} from '@sluice/core'
import { compileRoutes } from '@sluice/core/http'
import { defineManifest, type Manifest } from '@sluice/core/manifest'
import { describe, expect, it } from 'vitest'
import { allowedOf, limiterOf, loosely, rulesIn, took } from './support.ts'
import fromFile from './limits.json' with { type: 'json' }

const plans = definePlans({ starter: { rpm: 2, burst: 5 }, growth: { rpm: 6, burst: 9 } })
const rpm = { algorithm: 'fixedWindow', name: 'rpm', limit: 2, window: '1h' } as const

describe('the routes of a manifest', () => {
  const { routes } = defineManifest({
    basePath: '/api',
    defaults: { methods: ['POST'], cost: 3 },
    routes: [
      '/ai/**',
      '/',
      { path: '/ai/evaluate', id: 'evaluate', cost: { request: 1 } },
      { path: '/items/:id', methods: ['GET', 'PUT'] },
    ],
  })

  it('fit every adapter, below the base path and with the defaults', () => {
    expect(routes).toEqual([
      { path: '/api/ai/**', id: '/api/ai/**', methods: ['POST'], cost: 3 },
      { path: '/api', id: '/api', methods: ['POST'], cost: 3 },
      { path: '/api/ai/evaluate', id: 'evaluate', methods: ['POST'], cost: { request: 1 } },
      { path: '/api/items/:id', id: '/api/items/:id', methods: ['GET', 'PUT'], cost: 3 },
    ])
  })

  it.each([
    ['POST', '/api/ai/evaluate', 'evaluate'],
    ['POST', '/API/AI/%65valuate/', 'evaluate'],
    ['POST', '/api/ai/other', '/api/ai/**'],
    ['POST', '/api/', '/api'],
    ['PUT', '/api/items/7', '/api/items/:id'],
    ['GET', '/api/ai/evaluate', undefined],
    ['POST', '/ai/evaluate', undefined],
  ])('%s %s is counted as %s', (method, path, id) => {
    expect(compileRoutes(routes)(method, path)?.id).toBe(id)
  })

  it('have only the fields that were given', () => {
    expect(defineManifest({ routes: ['/a'] })).toMatchObject({
      routes: [{ path: '/a', id: '/a' }],
      policies: [],
    })
  })
})

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
    expect(await allowedOf(limiter, { route: '/a' })).toBe(1)
  })

  it('may be for some of the routes only', async () => {
    const limiter = limiterOf(
      defineManifest({
        policies: [{ ...rpm, per: 'global', routes: ['a'] }],
        routes: [{ path: '/a', id: 'a' }, '/b'],
      }),
    )
    expect(await allowedOf(limiter, { route: '/b' })).toBe(20)
    expect(await allowedOf(limiter, { route: 'a' })).toBe(2)
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
    expect(took(await limiter.check({ tenant: 'acme', route: '/a' }))).toEqual({
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
    expect(await allowedOf(limiter, { tenant: 'one', route: '/a' })).toBe(5)
    expect(await allowedOf(limiter, { tenant: 'two', route: '/a', plan: 'growth' })).toBe(9)
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
    expect(took(await on.check({ tenant: 'acme', route: 'a' }))).toEqual({ rpm: 9, own: 2 })
    expect(took(await on.check({ tenant: 'acme', route: '/b' }))).toEqual({ rpm: 9, made: 1 })
    expect(took(await on.check({ tenant: 'acme', route: '/c' }))).toEqual({ rpm: 9 })
    expect(took(await on.check({ tenant: 'acme' }))).toEqual({ rpm: 9 })
    expect(await allowedOf(on, { tenant: 'acme', route: 'a' })).toBe(1)
    expect(await allowedOf(on, { tenant: 'acme', route: '/b' })).toBe(0)
  })
})

const cost = () => 4

describe('manifest.route', () => {
  const manifest = defineManifest({
    routes: [{ path: '/a', id: 'a', cost }, '/b'],
  })

  it('is the id and the cost of a route, for its wrapped handler', () => {
    expect(manifest.route('a')).toEqual({ route: 'a', cost })
    expect(manifest.route('/b')).toEqual({ route: '/b' })
  })

  it.each(['c', '', 'constructor', '__proto__'])('has no route %j', (id) => {
    expect(() => manifest.route(id)).toThrow(expect.objectContaining({ name: 'ConfigError' }))
  })
})

describe('a manifest out of a JSON file', () => {
  it('makes a manifest', async () => {
    const manifest = defineManifest(fromFile as Manifest)
    const limiter = limiterOf(manifest, { plans })
    const subject = { tenant: 'acme', user: 'ann', plan: 'growth' }
    const evaluate = { ...subject, route: 'evaluate' }
    const decision = await limiter.check(evaluate, { cost: { request: 1, token: 500 } })
    expect(took(decision)).toEqual({ rpm: 6, tpm: 90_000, 'rpm-per-user-route': 30 })
    const items = { ...subject, route: '/api/items/**' }
    expect(took(await limiter.check(items, { cost: { token: 0 } }))).toEqual({
      rpm: 600,
      tpm: 90_000,
    })
    const logo = { ...subject, route: '/api/exports' }
    expect(took(await limiter.check(logo))).toEqual({ rpm: 6, exports: 5 })
  })
})
