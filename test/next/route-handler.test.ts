import { ConfigError, slidingWindow } from '@sluice/core'
import { limitGuesses, refuse } from '@sluice/core/http'
import { createHandoff, HANDOFF_HEADER } from '@sluice/core/internal/http'
import { memory } from '@sluice/core/memory'
import { rateLimit, withRateLimit, type Middleware } from '@sluice/next'
import { NextResponse } from 'next/server.js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { setUp } from '../support/limiters.ts'
import { limiterOfOne, request, routes, secret, subject } from './support/one-request.ts'

// Some of these hand-offs are forged, which wrappers report: see double-charge.test.ts.
beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))
afterEach(() => void vi.restoreAllMocks())

const options = () => ({ limiter: limiterOfOne(), route: 'evaluate', subject })

/** The hand-off that a middleware adds to a request. */
async function handedOnBy(
  middleware: Middleware,
  path = '/api/ai/evaluate',
  init?: Parameters<typeof request>[1],
): Promise<string> {
  const passed = await middleware(request(path, init))
  return passed.headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
}

const middlewareOfOne = () => rateLimit(limiterOfOne(), { routes, subject, secret })

describe('withRateLimit', () => {
  it('resolves the subject once, also with an invalid hand-off', async () => {
    const terms = {
      method: 'POST',
      route: 'evaluate',
      path: '/x',
      subject: { tenant: 'acme' },
    }
    for (const value of [
      'x',
      await createHandoff(secret, { clock: () => Date.now() - 4_001 }).sign(terms),
      await createHandoff('another secret that nobody here shares').sign(terms),
    ]) {
      for (const [whose, status] of [
        [{ tenant: 'acme' }, 200],
        [null, 401],
        [refuse({ status: 403, code: 'blocked', message: 'No.' }), 403],
      ] as const) {
        const resolve = vi.fn<() => typeof whose>(() => whose)
        const handler = withRateLimit(() => Response.json({}), {
          ...options(),
          secret,
          subject: resolve,
        })
        const incoming = request('/x', { headers: { [HANDOFF_HEADER]: value } })
        expect((await handler(incoming, {})).status).toBe(status)
        expect(resolve).toHaveBeenCalledOnce()
        // The same object again is a request of its own.
        await handler(incoming, {})
        expect(resolve).toHaveBeenCalledTimes(2)
      }
    }
  })

  it('charges a guess before it looks at credentials, whatever a hand-off claims', async () => {
    const terms = { method: 'POST', route: 'evaluate', path: '/x', subject: { tenant: 'acme' } }
    const another = createHandoff('another secret that nobody here shares')
    for (const value of ['x', await another.sign(terms)]) {
      const find = vi.fn<() => null>(() => null)
      const handler = withRateLimit(() => Response.json({}), {
        ...options(),
        secret,
        subject: find,
        unauthenticated: limitGuesses(limiterOfOne(), subject),
      })
      const statuses = []
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const guess = request('/x', { headers: { [HANDOFF_HEADER]: value } })
        statuses.push((await handler(guess, {})).status)
      }
      expect(statuses).toEqual([401, 429, 429])
      expect(find).toHaveBeenCalledOnce()
    }
  })

  it('passes the same request and context to the handler', async () => {
    const handler = vi.fn<(incoming: Request, context: { id: string }) => Response>(() =>
      Response.json({}),
    )
    const [incoming, context] = [request('/x'), { id: '7' }]
    await withRateLimit(handler, options())(incoming, context)
    expect(handler).toHaveBeenCalledExactlyOnceWith(incoming, context)
  })

  it('accepts a hand-off of the middleware with the same secret, and no other', async () => {
    for (const [theirs, remaining] of [
      [secret, null],
      ['another secret that nobody here shares', '0'],
    ] as const) {
      const middleware = rateLimit(limiterOfOne(), { routes, subject, secret: theirs })
      const value = await handedOnBy(middleware)
      const handler = withRateLimit(() => Response.json({}), { ...options(), secret })
      const answer = await handler(
        request('/api/ai/evaluate', { headers: { [HANDOFF_HEADER]: value } }),
        {},
      )
      expect(answer.headers.get('x-ratelimit-remaining')).toBe(remaining)
    }
  })

  it('accepts one of 50 equal hand-offs, and none under another path', async () => {
    const limiter = limiterOfOne()
    const middleware = rateLimit(limiter, { routes, subject, secret })
    const handle = vi.fn<() => Response>(() => Response.json({}))
    const handler = withRateLimit(handle, { ...options(), limiter, secret })
    const headers = { [HANDOFF_HEADER]: await handedOnBy(middleware, '/api/ai/evaluate') }
    for (const path of ['/v1/evaluate', '/api/ai/evaluate/', '/API/ai/evaluate', '/x']) {
      expect((await handler(request(path, { headers }), {})).status).toBe(429)
    }
    const replay = async () => handler(request('/api/ai/evaluate', { headers }), {})
    await Promise.all(Array.from({ length: 50 }, replay))
    expect(handle).toHaveBeenCalledOnce()
  })

  it.each([
    ['a basePath', '/app/api/ai/evaluate', '/api/ai/evaluate', { basePath: '/app' }],
    ['a trailing slash', '/api/ai/evaluate/', '/api/ai/evaluate/', { trailingSlash: true }],
  ])('accepts the hand-off of a path with %s', async (_, incoming, handled, nextConfig) => {
    const limiter = limiterOfOne()
    const middleware = rateLimit(limiter, { routes, subject, secret })
    const headers = { [HANDOFF_HEADER]: await handedOnBy(middleware, incoming, { nextConfig }) }
    const handler = withRateLimit(() => Response.json({}), { ...options(), limiter, secret })
    // On Node the base path is cut off the URL, at the edge it is not.
    expect((await handler(request(handled, { headers }), {})).status).toBe(200)
    const again = {
      [HANDOFF_HEADER]: await handedOnBy(middlewareOfOne(), incoming, { nextConfig }),
    }
    const edge = request(incoming, { headers: again, nextConfig })
    expect((await handler(edge, {})).status).toBe(200)
  })

  it('accepts the hand-off of a rewritten request only under the path of the client', async () => {
    const limiter = limiterOfOne()
    const middleware = rateLimit(limiter, {
      routes,
      subject,
      secret,
      next: () => NextResponse.rewrite('https://app.example/api/hidden/evaluate'),
    })
    const handler = withRateLimit(() => Response.json({}), { ...options(), limiter, secret })
    const headers = { [HANDOFF_HEADER]: await handedOnBy(middleware) }
    expect((await handler(request('/api/hidden/evaluate', { headers }), {})).status).toBe(429)
    expect((await handler(request('/api/ai/evaluate', { headers }), {})).status).toBe(200)
  })

  it('accepts a hand-off once over all processes with a store', async () => {
    const [limiter, store] = [limiterOfOne(), memory()]
    const handle = vi.fn<() => Response>(() => Response.json({}))
    const value = await handedOnBy(rateLimit(limiter, { routes, subject, secret }))
    const replay = async () => {
      const another = { ...options(), limiter, secret, singleUse: () => store }
      const headers = { [HANDOFF_HEADER]: value }
      return withRateLimit(handle, another)(request('/api/ai/evaluate', { headers }), {})
    }
    await Promise.all(Array.from({ length: 50 }, replay))
    expect(handle).toHaveBeenCalledOnce()
  })

  it('works if the headers of a request cannot be changed', async () => {
    const incoming = request('/x', { headers: { [HANDOFF_HEADER]: 'x' } })
    vi.spyOn(incoming.headers, 'delete').mockImplementation(() => {
      throw new TypeError('immutable')
    })
    const handler = withRateLimit(() => Response.json({}), { ...options(), secret })
    expect((await handler(incoming, {})).status).toBe(200)
  })

  it.each([
    [{ secret: 'short' }, 'secret'],
    [{ route: '' }, 'route'],
    [{ subject: undefined }, 'subject'],
    [{ secret, singleUse: {} }, 'singleUse'],
    [{ singleUse: memory() }, 'singleUse: must be set together with "secret"'],
    [{ limitr: 1 }, 'limitr'],
    [{ cost: NaN }, 'cost: must be'],
    [{ cost: 1.5 }, 'cost: must be'],
    [{ cost: { token: -1 } }, 'cost: must be'],
    [{ maxDelayMs: -1 }, 'maxDelayMs'],
  ])('refuses %j at construction', (wrong, named) => {
    const make = () => withRateLimit(() => Response.json({}), { ...options(), ...wrong } as never)
    expect(make).toThrow(named)
    expect(make).toThrow(ConfigError)
  })

  it.each([
    ['withRateLimit', () => withRateLimit(() => Response.json({}), undefined as never)],
    ['handler', () => withRateLimit(undefined as never, options())],
    ['handler', () => withRateLimit(Response.json({}) as never, options())],
  ])('requires its %s at construction', (option, make) => {
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
  })

  it('charges its cost', async () => {
    const policyOfFive = slidingWindow({ name: 'five', limit: 5, window: '1h', per: ['tenant'] })
    const handler = withRateLimit(() => Response.json({}), {
      ...options(),
      limiter: setUp([policyOfFive]).limiter,
      cost: 3,
    })
    const ask = async () => (await handler(request('/x'), {})).status
    expect([await ask(), await ask()]).toEqual([200, 429])
  })
})
