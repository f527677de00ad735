import { createLimiter, slidingWindow, type AllowedDecision } from '@sluice/core'
import { HANDOFF_HEADER } from '@sluice/core/internal/http'
import { memory } from '@sluice/core/memory'
import { rateLimit } from '@sluice/next'
import { NextRequest, NextResponse, type NextFetchEvent } from 'next/server.js'
import { describe, expect, it, vi } from 'vitest'
import { limiterOfOne, request, routes, secret, subject } from './support/one-request.ts'

/** The names of the headers in which Next.js is told what the route's request headers are. */
const overrides = (response: Response) =>
  Array.from(response.headers.keys()).filter((name) => /^x-middleware-(o|req)/.test(name))

describe('paths', () => {
  it.each([
    '/en/api/ai/evaluate',
    '/EN/api/ai/evaluate',
    '/de-AT/api/ai/evaluate',
    '/de%2DAT/api/ai/evaluate',
    '//en//api/ai/evaluate/',
    '/en/api/ai/evaluate.rsc',
    '/en/api/ai/evaluate;x=1',
    '/_next/data/build/api/ai/evaluate.json',
    '/_next/data/build/en/api/ai/evaluate.json',
    '/api/ai/evaluate.segments/_tree.segment.rsc',
    '/api/ai/evaluate%2ERSC',
  ])('%s is counted as the route it stands for', async (path) => {
    const middleware = rateLimit(limiterOfOne(), { routes, subject, locales: ['en', 'de-AT'] })
    expect((await middleware(request('/api/ai/evaluate'))).status).toBe(200)
    expect((await middleware(request(path))).status).toBe(429)
  })

  it.each(['/fr/api/ai/evaluate', '/english/api/ai/evaluate', '/en', '/'])(
    '%s is not limited',
    async (path) => {
      const middleware = rateLimit(limiterOfOne(), { routes, subject, locales: ['en'] })
      for (const _ of [1, 2]) expect((await middleware(request(path))).status).toBe(200)
    },
  )

  it('are taken without the basePath', async () => {
    const middleware = rateLimit(limiterOfOne(), { routes, subject })
    const nextConfig = { basePath: '/app' }
    for (const status of [200, 429]) {
      const incoming = request('/app/api/ai/evaluate', { nextConfig })
      expect((await middleware(incoming)).status).toBe(status)
    }
  })
})

describe('the next option', () => {
  it('gets the request, the event and the decision', async () => {
    const next =
      vi.fn<
        (request: NextRequest, event?: NextFetchEvent, decision?: AllowedDecision) => undefined
      >()
    const middleware = rateLimit(limiterOfOne(), { routes, subject, next })
    const incoming = request('/api/ai/evaluate')
    const event = { waitUntil: vi.fn<() => void>() } as unknown as NextFetchEvent
    await middleware(incoming, event)
    expect(next).toHaveBeenCalledExactlyOnceWith(
      incoming,
      event,
      expect.objectContaining({ allowed: true }),
    )
    await middleware(request('/other'), event)
    expect(next).toHaveBeenLastCalledWith(expect.anything(), event, undefined)
    await middleware(request('/api/ai/evaluate'), event)
    expect(next).toHaveBeenCalledTimes(2)
  })

  it('may set request headers, which pass with the hand-off and without one of a client', async () => {
    const middleware = rateLimit(limiterOfOne(), {
      routes,
      subject,
      secret,
      next: (incoming) => {
        const headers = new Headers(incoming.headers)
        headers.set('x-own', 'yes')
        return NextResponse.next({ request: { headers } })
      },
    })
    const headers = { [HANDOFF_HEADER]: 'mine', 'x-client': 'yes' }
    const response = await middleware(request('/api/ai/evaluate', { headers }))
    const overridden = response.headers.get('x-middleware-override-headers')?.split(',')
    expect(overridden?.toSorted()).toEqual(['x-client', 'x-own', HANDOFF_HEADER])
    expect(response.headers.get(`x-middleware-request-${HANDOFF_HEADER}`)).toMatch(/^\d+\./)
    const other = await middleware(request('/other', { headers }))
    expect(other.headers.get('x-middleware-override-headers')).not.toContain(HANDOFF_HEADER)
  })

  it('may answer by itself, or return a response that continues', async () => {
    const answers = [Response.json({ cached: true }), null, NextResponse.json({}, { status: 403 })]
    for (const answer of answers) {
      const middleware = rateLimit(limiterOfOne(), { routes, subject, next: () => answer })
      const response = await middleware(request('/api/ai/evaluate'))
      expect(response.status).toBe(answer?.status ?? 200)
      expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
    }
  })
})

describe('a response of the next option', () => {
  it('keeps its headers if it is a denial', async () => {
    const inner = rateLimit(limiterOfOne(), { routes, subject })
    const limiter = createLimiter({
      store: memory(),
      policies: [slidingWindow({ name: 'many', limit: 50, window: '1h', per: ['tenant'] })],
    })
    const middleware = rateLimit(limiter, { routes, subject, next: inner })
    const path = '/api/ai/evaluate'
    const answers = [await middleware(request(path)), await middleware(request(path))]
    expect(answers.map(({ status }) => status)).toEqual([200, 429])
    const limits = answers.map(({ headers }) => headers.get('x-ratelimit-limit'))
    expect(limits).toEqual(['50', '1'])
  })

  const headers = { authorization: 'Bearer secret', [HANDOFF_HEADER]: 'mine' }
  const answerTo = (own: Response) =>
    rateLimit(limiterOfOne(), { routes, subject, secret, next: () => own })(
      request('/api/ai/evaluate', { headers }),
    )

  it.each<[string, () => Response]>([
    ['that answers', () => Response.json({ cached: true })],
    ['that redirects', () => NextResponse.redirect('https://app.example/login')],
    ['that rewrites to another origin', () => NextResponse.rewrite('https://other.example/x')],
    ['that rewrites with a password', () => NextResponse.rewrite('https://a:b@other.example/x')],
    ['that rewrites to another port', () => NextResponse.rewrite('https://app.example:8080/x')],
    [
      'that rewrites to nowhere',
      () => new Response(null, { headers: { 'x-middleware-rewrite': 'https://' } }),
    ],
  ])('%s reveals nothing of the request', async (_, own) => {
    const response = await answerTo(own())
    expect(overrides(response)).toEqual([])
    expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
  })

  it.each<[string, () => Response]>([
    ['that goes on', () => NextResponse.next()],
    ['that rewrites', () => NextResponse.rewrite('https://app.example/api/other')],
    [
      'that rewrites to a path',
      () => new Response(null, { headers: { 'x-middleware-rewrite': '/api/other' } }),
    ],
  ])('%s passes on the request, with the hand-off', async (_, own) => {
    const response = await answerTo(own())
    expect(response.headers.get('x-middleware-request-authorization')).toBe('Bearer secret')
    expect(response.headers.get(`x-middleware-request-${HANDOFF_HEADER}`)).toMatch(/^\d+\./)
  })

  it('may rewrite to any name of the local host', async () => {
    const own = NextResponse.rewrite('http://127.0.0.1:3000/api/other')
    const middleware = rateLimit(limiterOfOne(), { routes, subject, secret, next: () => own })
    const incoming = new NextRequest('http://localhost:3000/api/ai/evaluate', { method: 'POST' })
    expect(overrides(await middleware(incoming))).toContain(
      `x-middleware-request-${HANDOFF_HEADER}`,
    )
  })
})

describe('a mistake in the options of rateLimit is an error at construction', () => {
  it.each<[string, object | undefined]>([
    ['rateLimit', undefined],
    ['next', { next: 5 }],
    ['next', { next: null }],
    ['locales', { locales: 'en' }],
    ['locales', { locales: [5] }],
    ['locales', { locales: null }],
  ])('%s: %j', (option, wrong) => {
    const all = wrong && { routes, subject, ...wrong }
    expect(() => rateLimit(limiterOfOne(), all as never)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option }),
    )
  })
})
