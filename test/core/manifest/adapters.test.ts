import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import type { Limiter } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { defineManifest } from '@sluice/core/manifest'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { assertProtected } from '@sluice/cli/testing'
import { NextRequest } from 'next/server.js'
import { describe, expect, it } from 'vitest'
import { limiterOf } from './support.ts'

/** Reads the cost out of a header here, where a body would do as well. */
const cost = ({ headers }: Request) => ({ request: 1, token: Number(headers.get('x-tokens')) })

const manifest = defineManifest({
  basePath: '/api',
  defaults: { methods: ['POST'] },
  policies: [
    { algorithm: 'fixedWindow', name: 'rph', limit: 9, window: '1h', per: ['tenant'] },
    {
      algorithm: 'fixedWindow',
      name: 'tokens',
      limit: 100,
      window: '1h',
      per: ['tenant'],
      unit: 'token',
    },
  ],
  routes: [
    { path: '/ai/evaluate', id: 'evaluate', cost },
    { path: '/ai/**', id: 'ai', cost: { token: 50 } },
    {
      path: '/items/:id',
      id: 'items',
      methods: ['GET'],
      overrides: { rph: { limit: 3 }, tokens: false },
    },
    {
      path: '/export',
      id: 'export',
      overrides: { rph: false, tokens: false },
      policies: [
        { algorithm: 'fixedWindow', name: 'export', limit: 1, window: '1h', per: 'global' },
      ],
    },
  ],
})

const subject = ({ headers }: Request) => ({ tenant: headers.get('x-tenant') ?? 'acme' })
const { routes } = manifest
const answer = () => new Response()

const tokens = (count: number) => ({ 'x-tokens': String(count) })

type Ask = (request: Request) => Promise<Response>

const ADAPTERS: Record<string, (limiter: Limiter) => Ask> = {
  'any fetch handler': (limiter) => rateLimit(limiter, { routes, subject }, answer),
  'a Worker': (limiter) => {
    const handle = rateLimitWorker(() => limiter, { routes, subject }, answer)
    return (request) => handle(request, {}, {})
  },
  'Next.js middleware': (limiter) => {
    const handle = rateLimitNext(limiter, { routes, subject })
    return (request) => handle(new NextRequest(request))
  },
}

describe.each(Object.entries(ADAPTERS))('a manifest behind %s', (_, adapter) => {
  /** The status of each of these requests, one after the other. */
  async function statuses(...requests: (readonly [string, string, RequestInit['headers']?])[]) {
    const ask = adapter(limiterOf(manifest))
    const found = []
    for (const [method, path, headers = {}] of requests) {
      found.push((await ask(new Request(`https://app.example${path}`, { method, headers }))).status)
    }
    return found
  }

  it('charges the cost of its route, by a function or by units', async () => {
    expect(
      await statuses(
        ['POST', '/api/ai/evaluate', tokens(60)],
        ['POST', '/api/ai/other'],
        ['POST', '/api/ai/evaluate', tokens(40)],
        ['POST', '/api/ai/evaluate', tokens(1)],
        ['POST', '/api/ai/evaluate', tokens(0)],
      ),
    ).toEqual([200, 429, 200, 429, 200])
  })

  it('applies the limits of its route', async () => {
    expect(
      await statuses(
        ['GET', '/api/items/7'],
        ['GET', '/api/items/8'],
        ['GET', '/api/items/9'],
        ['GET', '/api/items/7'],
        ['POST', '/api/export', { 'x-tenant': 'one' }],
        ['POST', '/api/export', { 'x-tenant': 'two' }],
      ),
    ).toEqual([200, 200, 200, 429, 200, 429])
  })

  it('lets requests to other paths pass', async () => {
    const many = Array.from({ length: 12 }, () => ['GET', '/api/export'] as const)
    expect(new Set(await statuses(...many))).toEqual(new Set([200]))
  })
})

it('a wrapped handler counts as its route in the manifest', async () => {
  const limiter = limiterOf(manifest)
  const handle = withRateLimit(answer, { limiter, ...manifest.route('evaluate'), subject })
  const ask = async (count: number) => {
    const headers = tokens(count)
    return (await handle(new Request('https://app.example/alias', { headers }), {})).status
  }
  expect([await ask(70), await ask(70), await ask(30)]).toEqual([200, 429, 200])
})

it('assertProtected takes its routes', () => {
  const root = new URL('../../next/fixture', import.meta.url).pathname
  expect(() => assertProtected({ root, under: '/api/ai', routes })).toThrow('/api/ai')
  const all = defineManifest({ basePath: '/api', routes: ['/ai/**'] })
  expect(() =>
    assertProtected({ root, under: '/api/ai', routes: all.routes, rewrites: [] }),
  ).not.toThrow()
})
