import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import { fixedWindow, InputError, type Cost, type Limiter } from '@sluice/core'
import {
  limitGuesses,
  rateLimit,
  reserving,
  type RouteCost,
  type RouteInput,
} from '@sluice/core/http'
import { HANDOFF_HEADER } from '@sluice/core/internal/http'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { assertProtected } from '@sluice/cli/testing'
import { NextRequest } from 'next/server.js'
import { describe, expect, it, vi } from 'vitest'
import { app, setUpAtMidnight, perMinute, subject } from './support.ts'

/** A limiter of requests and tokens, and what an acme has left of each. */
function counting(requests = 10, tokens = 1_000) {
  const { limiter } = setUpAtMidnight(
    fixedWindow({ name: 'rpm', limit: requests, window: '1h', per: ['tenant'] }),
    fixedWindow({ name: 'tpm', limit: tokens, window: '1h', per: ['tenant'], unit: 'token' }),
  )
  const left = async () => {
    const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { token: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, left }
}

/** The cost of a request by its `max_tokens`, as the page on costs shows it. */
const byBody: RouteCost = async (request) => {
  const { max_tokens: maxTokens } = (await request.clone().json()) as { max_tokens?: unknown }
  const tokens =
    typeof maxTokens === 'number' && Number.isInteger(maxTokens) && maxTokens > 0 ? maxTokens : 400
  return { token: Math.min(tokens, 400) }
}

const echo = async (request: Request) => new Response(await request.text())
const json = (value: object) => ({ method: 'POST', body: JSON.stringify(value) })

describe("a route's cost", () => {
  it('may be read from the body, which the handler can still read', async () => {
    const { limiter, left } = counting()
    const ask = app(limiter, { routes: [{ path: '/api/ai/chat', cost: byBody }] }, echo)
    const answer = await ask({}, json({ max_tokens: 120 }))
    expect(await answer.json()).toEqual({ max_tokens: 120 })
    expect(await left()).toEqual([9, 880])
    for (const max_tokens of [1e9, -5, '7', undefined]) await ask({}, json({ max_tokens }))
    // Each of them the bound of 400, until the tokens are spent.
    expect(await left()).toEqual([7, 80])
  })

  it('of several units is charged in one check, all or nothing', async () => {
    const { limiter, left } = counting()
    const check = vi.spyOn(limiter, 'check')
    const routes = [{ path: '/api/ai/chat', cost: { request: 3, token: 600 } }]
    const ask = app(limiter, { routes })
    expect((await ask()).status).toBe(200)
    expect(await left()).toEqual([7, 400])
    expect((await ask()).status).toBe(429)
    expect(await left()).toEqual([7, 400])
    expect(check).toHaveBeenCalledTimes(2)
  })

  it('above a limit gets a 429 that no client retries', async () => {
    const { limiter, left } = counting()
    const ask = app(limiter, { cost: async () => ({ token: 1_001 }) })
    const answer = await ask()
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({ error: 'cost_exceeds_limit', policy: 'tpm' })
    expect(answer.headers.has('retry-after')).toBe(false)
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(await left()).toEqual([10, 1_000])
  })

  it('takes precedence over the cost of the adapter, which is for routes without one', async () => {
    const { limiter, left } = counting()
    const routes: RouteInput[] = ['/api/a', { path: '/api/b', cost: { token: 5 } }]
    const ask = app(limiter, { routes, cost: () => ({ token: 70 }) })
    await ask({}, {}, '/api/a')
    expect(await left()).toEqual([9, 930])
    await ask({}, {}, '/api/b')
    expect(await left()).toEqual([8, 925])
  })

  it('is computed once, and only for requests with a subject to the route', async () => {
    const cost = vi.fn<() => Cost>(() => 1)
    const unauthenticated = limitGuesses(perMinute(1), () => ({ tenant: 'stranger' }))
    const routes = [{ path: '/api/ai/**', cost }]
    const ask = app(perMinute(9), { routes, unauthenticated, preflight: 'pass' })
    await ask()
    expect(cost).toHaveBeenCalledOnce()
    await ask({}, {}, '/api/other')
    const who = rateLimit(
      perMinute(1),
      { routes: [{ path: '/**', cost }], subject },
      () => new Response(),
    )
    expect((await who(new Request('https://app.example/'))).status).toBe(401)
    const origin = { origin: 'https://page.example', 'access-control-request-method': 'POST' }
    await ask(origin, { method: 'OPTIONS' })
    expect(cost).toHaveBeenCalledOnce()
  })

  it('does not apply to requests without a subject, which cost 1 request', async () => {
    const { limiter } = counting()
    const strangers = perMinute(2)
    const ask = app(limiter, {
      routes: [{ path: '/api/ai/chat', cost: { request: 5, token: 1 } }],
      subject: () => null,
      unauthenticated: limitGuesses(strangers, () => ({ tenant: 'stranger' })),
    })
    const statuses = []
    for (let time = 0; time < 3; time += 1) statuses.push((await ask()).status)
    expect(statuses).toEqual([401, 401, 429])
  })
})

describe('an invalid cost', () => {
  it.each<[string, unknown, string]>([
    ['NaN', NaN, 'cost.request'],
    ['below 0', -1, 'cost.request'],
    ['a fraction', 1.5, 'cost.request'],
    ['infinite', { token: Infinity }, 'cost.token'],
    ['without a unit that is counted', 1, 'cost.token'],
    ['with a unit that nobody counts', { token: 1, tokne: 1 }, 'cost'],
    ['a string', '5', 'cost'],
    ['a list', [1], 'cost'],
    ['null', null, 'cost'],
    ['undefined', undefined, 'cost'],
  ])('%s is an error that names the route, and charges nothing', async (_, wrong, input) => {
    const { limiter, left } = counting()
    const handle = vi.fn<() => Response>(() => new Response())
    const cost = () => wrong as Cost
    const ask = app(limiter, { routes: [{ path: '/api/ai/**', id: 'chat', cost }] }, handle)
    const error: unknown = await ask().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(InputError)
    expect(error).toMatchObject({ code: 'invalid_cost', input })
    expect((error as Error).message).toMatch(/^Sluice: cost[\w.]*: .+, on the route "chat" \(docs/)
    expect(handle).not.toHaveBeenCalled()
    expect(await left()).toEqual([10, 1_000])
  })

  it.each([
    ['invalid_body', 400],
    ['body_too_large', 413],
  ] as const)('may refuse a body as %s with %i, which costs a request', async (code, status) => {
    const { limiter, left } = counting(2)
    const handle = vi.fn<() => Response>(() => new Response())
    const cost = () => Promise.reject(new InputError(code, 'body', 'must be another'))
    for (const option of [cost, reserving(cost)]) {
      const ask = app(limiter, { cost: option }, handle)
      const answer = await ask()
      expect(answer.status).toBe(status)
      expect(await answer.json()).toEqual({ error: code, message: 'body: must be another' })
    }
    expect(await left()).toEqual([0, 1_000])
    expect((await app(limiter, { cost }, handle)()).status).toBe(429)
    expect(handle).not.toHaveBeenCalled()
  })

  it('rethrows what the cost function throws, even an error of ours', async () => {
    const { limiter, left } = counting()
    for (const error of [
      new SyntaxError('no JSON'),
      new InputError('invalid_subject', 'subject', 'is mine'),
    ]) {
      const ask = app(limiter, { cost: () => Promise.reject(error) })
      await expect(ask()).rejects.toBe(error)
    }
    expect(await left()).toEqual([10, 1_000])
  })

  it.each([NaN, -1, { token: -1 }, [1], null, '5', true])(
    '%j is refused at construction if it is fixed',
    (cost) => {
      const wrong = cost as never
      const routes = [{ path: '/a', cost: wrong }]
      expect(() => app(perMinute(1), { cost: wrong })).toThrow(/^Sluice: cost: must be/)
      expect(() => app(perMinute(1), { routes })).toThrow(/^Sluice: routes\[0\]\.cost: must be/)
    },
  )
})

interface Env {
  readonly tokens: number
}

describe('the cost function gets the context of its platform:', () => {
  it("env and ctx by the Worker's adapter", async () => {
    const { limiter, left } = counting()
    const cost = (_: Request, env: Env) => ({ token: env.tokens })
    const routes = [{ path: '/**', cost }]
    const handle = rateLimitWorker<Env>(
      () => limiter,
      { routes, subject },
      () => new Response(),
    )
    const headers = { 'x-tenant': 'acme' }
    await handle(new Request('https://app.example/', { headers }), { tokens: 44 }, {})
    expect(await left()).toEqual([9, 956])
  })

  it('the route context by withRateLimit', async () => {
    const { limiter, left } = counting()
    const handle = withRateLimit(() => new Response(), {
      limiter,
      route: 'chat',
      subject,
      cost: (_: Request, context: unknown) => ({ token: (context as Env).tokens }),
    })
    const headers = { 'x-tenant': 'acme' }
    await handle(new Request('https://app.example/', { headers }), { tokens: 44 })
    expect(await left()).toEqual([9, 956])
  })
})

describe('middleware and a wrapped handler with costs of their own', () => {
  const secret = 'a secret of at least thirty-two characters'
  const url = 'https://app.example/api/ai/chat'

  function pair(limiter: Limiter, cost: RouteCost) {
    const routes = [{ path: '/api/ai/chat', id: 'chat', cost }]
    return {
      middleware: rateLimitNext(limiter, { routes, subject, secret }),
      handler: withRateLimit(echo, {
        limiter,
        route: 'chat',
        subject,
        secret,
        cost,
      }),
    }
  }

  it('charge once and compute the cost once when the request passes both', async () => {
    const { limiter, left } = counting()
    const cost = vi.fn<typeof byBody>(byBody)
    const { middleware, handler } = pair(limiter, cost)
    const init = { ...json({ max_tokens: 50 }), headers: { 'x-tenant': 'acme' } }
    const passed = await middleware(new NextRequest(url, init))
    const value = passed.headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
    const headers = { ...init.headers, [HANDOFF_HEADER]: value }
    const answer = await handler(new NextRequest(url, { ...init, headers }), {})
    expect(await answer.json()).toEqual({ max_tokens: 50 })
    expect(await left()).toEqual([9, 950])
    expect(cost).toHaveBeenCalledOnce()
  })

  it('charge the same when the request goes around the middleware', async () => {
    const { limiter, left } = counting()
    const { handler } = pair(limiter, byBody)
    const init = { ...json({ max_tokens: 50 }), headers: { 'x-tenant': 'acme' } }
    await handler(new NextRequest(url, init), {})
    expect(await left()).toEqual([9, 950])
  })
})

it('assertProtected accepts routes whose costs need a context', () => {
  const routes = [{ path: '/api/**', cost: (_: Request, env: Env) => env.tokens }]
  const root = new URL('../../next/fixture', import.meta.url).pathname
  expect(() => assertProtected({ root, under: '/api/ai', routes, rewrites: [] })).not.toThrow()
})
