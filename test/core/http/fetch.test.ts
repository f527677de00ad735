import { fixedWindow, type Limiter } from '@sluice/core'
import { rateLimit, withHeaders, type RouteInput } from '@sluice/core/http'
import { describe, expect, it, vi } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { SAME_ROUTE } from '../../support/spellings.ts'
import { app, perMinute, subject } from './support.ts'

/** A resolver that lets the client say what the route is. */
const claiming = ({ headers }: Request) => ({ tenant: 'acme', route: headers.get('x-route') ?? '' })

describe('routes', () => {
  const ROUTES: RouteInput[] = [
    { path: '/api/ai/**', id: 'ai' },
    { path: '/api/ai/:tool', id: 'tool' },
    { path: '/api/ai/evaluate', id: 'evaluate', methods: ['POST'] },
    '/api/models/:model',
    { path: '/api/Prüfen und Werten', id: 'literal', methods: ['GET'] },
  ]

  it.each([
    ['POST', '/api/ai/evaluate', 'evaluate'],
    ['GET', '/api/ai/evaluate', 'tool'],
    ['GET', '/api/ai/other', 'tool'],
    ['GET', '/api/ai/a/b', 'ai'],
    ['GET', '/api/ai', 'ai'],
    ['GET', '/api/models/gpt', '/api/models/:model'],
    ['GET', '/api/models/meta%2fllama', '/api/models/:model'],
    ['POST', '/api/ai%2Fevaluate', 'evaluate'],
    ['POST', '/api/ai/evaluate%2f', 'evaluate'],
    ['GET', '/api/pr%C3%BCfen%20und%20werten', 'literal'],
    ['GET', '/api/PR%C3%9CFEN und Werten', 'literal'],
    ['HEAD', '/api/prüfen und werten', 'literal'],
    ['POST', '/api/prüfen und werten', undefined],
    ['GET', '/api/aix', undefined],
    ['GET', '/', undefined],
  ])('%s %s is counted as %s', async (method, path, id) => {
    const checked = vi.fn<(checkedSubject: object) => void>()
    const limiter = perMinute(9)
    const check: typeof limiter.check = (checkedSubject, options) => {
      checked(checkedSubject)
      return limiter.check(checkedSubject, options)
    }
    const answer = await app({ ...limiter, check }, { routes: ROUTES })({}, { method }, path)
    expect(answer.status).toBe(200)
    expect(checked.mock.calls).toEqual(id === undefined ? [] : [[{ tenant: 'acme', route: id }]])
  })

  it('are charged their own cost', async () => {
    const ask = app(perMinute(5), { routes: [{ path: '/api/ai/**', cost: 3 }] })
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
  })

  it('cannot be chosen by a subject', async () => {
    const policy = fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant', 'route'] })
    const { limiter } = setUp([policy])
    const ask = app(limiter, { subject: claiming })
    expect((await ask({ 'x-route': 'a' })).status).toBe(200)
    expect((await ask({ 'x-route': 'b' })).status).toBe(429)
  })
})

describe('every spelling of a path', () => {
  it.each(SAME_ROUTE)('$name counts on the same budget', async ({ write }) => {
    const policy = fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant', 'route'] })
    const { limiter } = setUp([policy])
    const ask = app(limiter, { routes: ['/api/ai/evaluate'] })
    expect((await ask({}, {}, '/api/ai/evaluate')).status).toBe(200)
    expect((await ask({}, {}, write('/api/ai/evaluate'))).status).toBe(429)
  })

  it.each(['/%', '/%zz', '/%c0%af', '/%e0%a4', '/api/%', '/%u0061pi'])(
    '%s cannot be decoded, and passes without an exception',
    async (path) => {
      expect((await app(perMinute(1))({}, {}, path)).status).toBe(200)
    },
  )

  it.each(['/api/ai/%', '/api/ai/%zz', '/api/ai/%c0%af'])(
    '%s cannot be decoded, and counts as the route above it',
    async (path) => {
      const ask = app(perMinute(1))
      await ask()
      expect((await ask({}, {}, path)).status).toBe(429)
    },
  )
})

describe('the handler', () => {
  it('throws as if nothing stood in front of it', async () => {
    const error = new Error('the model is down')
    await expect(app(perMinute(1), {}, () => Promise.reject(error))()).rejects.toBe(error)
  })

  it('gets the same request object, and the arguments of the platform', async () => {
    const handle = vi.fn<(request: Request, context: object) => Response>(() => new Response())
    const fetch = rateLimit<[object]>(
      perMinute(1),
      { routes: ['/**'], subject: () => ({ tenant: 'acme' }) },
      handle,
    )
    const [request, context] = [new Request('https://app.example/'), {}]
    await fetch(request, context)
    expect(handle.mock.calls[0]?.[0]).toBe(request)
    expect(handle.mock.calls[0]?.[1]).toBe(context)
  })

  it('reads the body of the request itself', async () => {
    const ask = app(perMinute(1), {}, async (request) => new Response(await request.text()))
    expect(await (await ask({}, { method: 'POST', body: 'prompt' })).text()).toBe('prompt')
  })

  it('keeps its status, cookies and headers', async () => {
    const ask = app(perMinute(1), {}, () => {
      const response = new Response(null, { status: 204, headers: { 'x-own': '1' } })
      response.headers.append('set-cookie', 'a=1')
      response.headers.append('set-cookie', 'b=2')
      return response
    })
    const answer = await ask()
    expect(answer.status).toBe(204)
    expect(answer.headers.get('x-own')).toBe('1')
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(answer.headers.get('ratelimit')).toMatch(/^"rpm";r=0/)
  })

  it('streams: a chunk is made when it is read, and an abandoned stream is cancelled', async () => {
    let made = 0
    const cancel = vi.fn<(reason: unknown) => void>()
    const source: UnderlyingDefaultSource<Uint8Array> = {
      pull: (controller) => controller.enqueue(new TextEncoder().encode(`chunk ${(made += 1)}`)),
      cancel,
    }
    const ask = app(
      perMinute(1),
      {},
      () => new Response(new ReadableStream(source, { highWaterMark: 0 })),
    )
    const reader = (await ask()).body?.getReader()
    expect(made).toBe(0)
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('chunk 1')
    expect(made).toBe(1)
    await reader?.cancel('enough')
    expect(cancel).toHaveBeenCalledWith('enough')
  })

  it('may switch protocols: a 101 passes as the same object', () => {
    const response = Object.defineProperty(new Response(), 'status', { value: 101 })
    expect(withHeaders(response, { 'X-RateLimit-Limit': '1' })).toBe(response)
  })

  it('may answer with a network error, which passes as the same object', async () => {
    const error = Response.error()
    expect(await app(perMinute(1), {}, () => error)()).toBe(error)
  })

  it('does not run when the subject resolver throws', async () => {
    const handle = vi.fn<() => Response>(() => new Response())
    const options = { subject: () => Promise.reject(new Error('no database')) }
    await expect(app(perMinute(1), options, handle)()).rejects.toThrow('no database')
    expect(handle).not.toHaveBeenCalled()
  })
})

describe('a limiter made by a function', () => {
  it('is made at the first request and kept, though each request has a new context', async () => {
    const make = vi.fn<(context: object) => Limiter>(() => perMinute(2))
    const fetch = rateLimit<[object]>(make, { routes: ['/**'], subject }, () => new Response())
    expect(make).not.toHaveBeenCalled()
    const statuses = []
    for (let time = 0; time < 3; time += 1) {
      const request = new Request('https://app.example/', { headers: { 'x-tenant': 'acme' } })
      statuses.push((await fetch(request, {})).status)
    }
    expect(statuses).toEqual([200, 200, 429])
    expect(make).toHaveBeenCalledOnce()
  })
})
