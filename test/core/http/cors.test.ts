import { describe, expect, it, vi } from 'vitest'
import { app, perMinute } from './support.ts'

const ORIGIN = { origin: 'https://page.example' }
const PREFLIGHT = { ...ORIGIN, 'access-control-request-method': 'POST' }
const OPTIONS = { method: 'OPTIONS' }

const exposed = (answer: Response) =>
  (answer.headers.get('access-control-expose-headers') ?? '').split(', ')

describe('headers that another origin may read', () => {
  it('are all headers that we send, beside those that the handler exposes', async () => {
    const headers = { 'Access-Control-Expose-Headers': 'x-model' }
    const answer = await app(perMinute(9), {}, () => new Response('', { headers }))(ORIGIN)
    expect(exposed(answer)).toEqual([
      'x-model',
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'X-RateLimit-Scope',
      'RateLimit-Policy',
      'RateLimit',
    ])
  })

  it('include the retry headers on a denial', async () => {
    const ask = app(perMinute(1))
    await ask(ORIGIN)
    const denied = await ask(ORIGIN)
    expect(denied.status).toBe(429)
    for (const name of exposed(denied)) expect(denied.headers.has(name)).toBe(true)
    expect(exposed(denied)).toContain('Retry-After')
  })

  it('are not listed for the same origin, nor when no header is sent', async () => {
    const name = 'access-control-expose-headers'
    expect((await app(perMinute(9))()).headers.has(name)).toBe(false)
    expect((await app(perMinute(9), { headers: false })(ORIGIN)).headers.has(name)).toBe(false)
  })

  it('need an Allow-Origin, which we never send', async () => {
    const answer = await app(perMinute(9))(ORIGIN)
    expect(answer.headers.has('access-control-allow-origin')).toBe(false)
  })
})

const PASS = { preflight: 'pass' } as const

/** A body that says nothing of its length. */
const streamed = () => ({
  ...OPTIONS,
  body: new Response('{"prompt":"free?"}').body,
  duplex: 'half' as const,
})

describe('a preflight', () => {
  it('does not reach the handler uncharged by default', async () => {
    const handle = vi.fn<() => Response>(() => new Response('answer'))
    const ask = app(perMinute(1), {}, handle)
    const statuses = []
    for (let time = 0; time < 100; time += 1) statuses.push((await ask(PREFLIGHT, OPTIONS)).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(handle).toHaveBeenCalledOnce()
    expect((await app(perMinute(1), { subject: () => null })(PREFLIGHT, OPTIONS)).status).toBe(401)
  })

  it('reaches a handler uncharged and without credentials, if the option says so', async () => {
    const own = { status: 204, headers: { allow: 'POST' } }
    const limiter = perMinute(1)
    const options = { ...PASS, subject: () => null }
    const ask = app(limiter, options, () => new Response(null, own))
    const headers = { ...PREFLIGHT, 'access-control-request-headers': 'authorization, x-api-key' }
    for (let time = 0; time < 5; time += 1) {
      const answer = await ask({ ...headers, 'sec-fetch-mode': 'cors', accept: '*/*' }, OPTIONS)
      expect(answer.status).toBe(204)
      expect([...answer.headers.keys()]).toEqual(['allow'])
    }
    expect((await app(limiter)()).status).toBe(200)
  })

  it('may have an empty body, as some platforms give to all requests', async () => {
    const ask = app(perMinute(1), PASS, async (request) => new Response(await request.text()))
    for (let time = 0; time < 3; time += 1) {
      const answer = await ask(PREFLIGHT, { ...streamed(), body: new Response('').body })
      expect([answer.status, await answer.text()]).toEqual([200, ''])
    }
  })

  it.each([
    ['without an origin', { 'access-control-request-method': 'POST' }, () => OPTIONS],
    ['without the method it asks for', ORIGIN, () => OPTIONS],
    ['of another method', PREFLIGHT, () => ({ method: 'POST' })],
    ['with a body', PREFLIGHT, () => ({ ...OPTIONS, body: '{"prompt":"free?"}' })],
    ['with a streamed body', PREFLIGHT, streamed],
    ['with a length', { ...PREFLIGHT, 'content-length': '18' }, () => OPTIONS],
    ['with a length that is none', { ...PREFLIGHT, 'content-length': 'x' }, () => OPTIONS],
    ['with chunks', { ...PREFLIGHT, 'transfer-encoding': 'chunked' }, () => OPTIONS],
    ['with credentials', { ...PREFLIGHT, authorization: 'Bearer x' }, () => OPTIONS],
    ['with a cookie', { ...PREFLIGHT, cookie: 'a=b' }, () => OPTIONS],
    ['with an API key', { ...PREFLIGHT, 'x-api-key': 'k' }, () => OPTIONS],
    ['with a token of its own kind', { ...PREFLIGHT, 'x-acme-token': 't' }, () => OPTIONS],
  ])('%s is charged like any other request', async (_, headers, init) => {
    const handle = vi.fn<(request: Request) => Promise<Response>>(
      async (request) => new Response(await request.text()),
    )
    const ask = app(perMinute(1), PASS, handle)
    const first = await ask(headers, init())
    expect(first.status).toBe(200)
    expect(await first.text()).toBe('body' in init() ? '{"prompt":"free?"}' : '')
    expect((await ask(headers, init())).status).toBe(429)
    expect(handle).toHaveBeenCalledOnce()
  })
})
