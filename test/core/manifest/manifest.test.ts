import { definePlans } from '@sluice/core'
import { compileRoutes } from '@sluice/core/http'
import { defineManifest, type Manifest } from '@sluice/core/manifest'
import { describe, expect, it } from 'vitest'
import { limitsIn } from '../../support/decisions.ts'
import { limiterOf } from './support.ts'
import fromFile from './limits.json' with { type: 'json' }

const plans = definePlans({ starter: { rpm: 2, burst: 5 }, growth: { rpm: 6, burst: 9 } })

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
    expect(limitsIn(decision)).toEqual({ rpm: 6, tpm: 90_000, 'rpm-per-user-route': 30 })
    const items = { ...subject, route: '/api/items/**' }
    expect(limitsIn(await limiter.check(items, { cost: { token: 0 } }))).toEqual({
      rpm: 600,
      tpm: 90_000,
    })
    const logo = { ...subject, route: '/api/exports' }
    expect(limitsIn(await limiter.check(logo))).toEqual({ rpm: 6, exports: 5 })
  })
})
