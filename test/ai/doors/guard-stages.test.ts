import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import {
  createLimiter,
  dailyCap,
  InputError,
  leakyBucket,
  manualClock,
  slidingWindow,
  type DeniedDecision,
  type Limiter,
  type Policy,
} from '@sluice/core'
import { decisionOf, limitGuesses, rateLimit, refuse } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { modelHandler } from '@sluice/ai'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { NextRequest } from 'next/server.js'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { NOON } from '../../support/times.ts'
import { QUESTION } from '../doors.ts'

/* The stages of all that limit the requests of a server: each case is for all of them. */

type Handle = (request: Request) => Response | Promise<Response>
type Ask = (init?: RequestInit) => Promise<Response>

const url = 'https://app.example/api/ai/chat'
const routes = ['/**']
const method = 'POST'
const body = JSON.stringify({ ...QUESTION, max_tokens: 5 })
const requestOf = (init: RequestInit = {}) => new Request(url, { method, body, ...init })
const nextRequestOf = (init: RequestInit = {}) =>
  new NextRequest(url, { method, body, ...init } as never)

/** Each way to limit the requests of a server, around a handler. */
const WAYS: Readonly<Record<string, (limiter: Limiter, options: never, handle: Handle) => Ask>> = {
  'any fetch handler'(limiter, options: object, handle) {
    const limited = rateLimit(limiter, { routes, ...options } as never, handle)
    return async (init) => limited(requestOf(init))
  },
  'a Worker'(limiter, options: object, handle) {
    const limited = rateLimitWorker(() => limiter, { routes, ...options } as never, handle)
    return async (init) => limited(requestOf(init), {}, {})
  },
  'Next.js middleware'(limiter, options: object, handle) {
    const limited = rateLimitNext(limiter, { routes, ...options, next: handle } as never)
    return async (init) => limited(nextRequestOf(init))
  },
  'a wrapped Next.js handler'(limiter, options: object, handle) {
    const limited = withRateLimit(handle, { limiter, route: 'chat', ...options } as never)
    return async (init) => limited(nextRequestOf(init), {})
  },
  'a model handler'(limiter, options: object, handle) {
    const limited = modelHandler(
      limiter,
      { api: 'openai-chat', onError: () => {}, ...options } as never,
      (_, request) => handle(request),
    )
    return async (init) => limited(requestOf(init))
  },
}

const limiterOf = (...policies: Policy[]): Limiter =>
  createLimiter({ store: memory(), clock: manualClock(NOON), policies })

const perMinute = (limit: number) =>
  slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })

const left = async (limiter: Limiter, subject: object = { tenant: 'acme' }) =>
  (await limiter.peek(subject, { cost: { request: 0 } })).policies[0]?.remaining

const subject = () => ({ tenant: 'acme' })
const refuseBody = () => Promise.reject(new InputError('invalid_body', 'body', 'must be another'))
const readBody = async (_: unknown, request: Request) =>
  new Response(await request.text(), { status: 203 })

/** The limits' headers of an answer. */
const limitsOf = ({ headers }: Response) =>
  [...headers.keys()].filter((name) => /ratelimit|retry/.test(name)).toSorted()

const LIMITS = [
  'ratelimit',
  'ratelimit-policy',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-ratelimit-scope',
]

describe.each(Object.entries(WAYS))('%s', (name, open) => {
  const handle = vi.fn<Handle>(() => Response.json({ ok: true }))
  const isDoor = name === 'a model handler'
  afterEach(() => {
    handle.mockReset().mockImplementation(() => Response.json({ ok: true }))
    vi.useRealTimers()
  })
  const start = (limiter: Limiter, options: object = {}) =>
    open(limiter, { subject, ...options } as never, handle)

  const askDenied = async (
    onDenied: (decision: DeniedDecision, request: Request) => unknown,
    init?: RequestInit,
  ) => {
    const limiter = limiterOf(perMinute(1))
    await limiter.check(subject())
    return start(limiter, { onDenied })(init)
  }

  it('adds the headers of the limits to the answer of the handler, which can ask for the decision', async () => {
    let remaining: number | undefined
    handle.mockImplementation((request) => {
      remaining = decisionOf(request)?.policies[0]?.remaining
      return Response.json({})
    })
    const answer = await start(limiterOf(perMinute(5)))()
    expect(limitsOf(answer)).toEqual(LIMITS)
    expect([answer.headers.get('x-ratelimit-remaining'), remaining]).toEqual(['4', 4])
  })

  it('leaves the headers of a denial from further in alone', async () => {
    handle.mockImplementation(() => new Response('no', { headers: { 'retry-after': '7' } }))
    const answer = await start(limiterOf(perMinute(5)))()
    expect(limitsOf(answer)).toEqual(['retry-after'])
  })

  it.each([null, undefined])('answers 401 where the subject is %s, uncharged', async (nobody) => {
    const limiter = limiterOf(perMinute(5))
    const onDenied = vi.fn<() => undefined>()
    const answer = await start(limiter, { subject: () => nobody, onDenied })()
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect([limitsOf(answer), await left(limiter)]).toEqual([[], 5])
    expect([handle.mock.calls, onDenied.mock.calls]).toEqual([[], []])
  })

  it('answers a refusal of the resolver with its status and headers, uncharged', async () => {
    const limiter = limiterOf(perMinute(5))
    const headers = { 'x-why': 'abuse' }
    const banned = refuse({ status: 403, code: 'banned', message: 'Banned.', headers })
    const answer = await start(limiter, { subject: () => banned })()
    expect([answer.status, answer.headers.get('x-why')]).toEqual([403, 'abuse'])
    expect([limitsOf(answer), await left(limiter)]).toEqual([[], 5])
  })

  it('does not catch what the resolver throws, and charges nothing', async () => {
    const limiter = limiterOf(perMinute(5))
    const fault = new TypeError('no keys')
    const ask = start(limiter, { subject: () => Promise.reject(fault) })
    await expect(ask()).rejects.toBe(fault)
    expect([handle.mock.calls, await left(limiter)]).toEqual([[], 5])
  })

  it('answers 400 to an id that cannot be counted', async () => {
    const answer = await start(limiterOf(perMinute(5)), { subject: () => ({ tenant: '' }) })()
    expect(answer.status).toBe(400)
    expect(handle).not.toHaveBeenCalled()
  })

  describe('denied', () => {
    it.each([undefined, null])('answers 429 where onDenied returns %s', async (nothing) => {
      const answer = await askDenied(() => nothing)
      expect(answer.status).toBe(429)
      expect(limitsOf(answer)).toEqual([...LIMITS, 'retry-after', 'x-should-retry'].toSorted())
      expect(handle).not.toHaveBeenCalled()
    })

    it('adds the headers to the response of onDenied, which can read the body', async () => {
      const answer = await askDenied(readBody)
      expect([answer.status, await answer.text()]).toEqual([203, body])
      expect(limitsOf(answer)).toEqual([...LIMITS, 'retry-after', 'x-should-retry'].toSorted())
    })

    it('says nothing of waiting where onDenied asks to pay', async () => {
      const answer = await askDenied(() => new Response('pay', { status: 402 }), {
        headers: { origin: 'https://page.example' },
      })
      expect(limitsOf(answer)).toEqual([...LIMITS, 'x-should-retry'].toSorted())
      expect(answer.headers.get('access-control-expose-headers')).not.toContain('Retry-After')
    })

    it('does not catch what onDenied throws', async () => {
      const fault = new TypeError('a mistake')
      await expect(askDenied(() => Promise.reject(fault))).rejects.toBe(fault)
    })
  })

  it('has no headers of the limits on the refusal of a body, which costs a request', async () => {
    const limiter = limiterOf(perMinute(5))
    const answer = await start(limiter, isDoor ? {} : { cost: refuseBody })({ body: '{}' })
    expect([answer.status, limitsOf(answer), await left(limiter)]).toEqual([400, [], 4])
    expect(handle).not.toHaveBeenCalled()
  })

  it('gives a good guess back, also where the handler fails', async () => {
    const guesses = limiterOf(dailyCap({ name: 'guesses', limit: 3, per: ['address'] }))
    const unauthenticated = limitGuesses(guesses, () => ({ address: '192.0.2.1' }))
    const ask = start(limiterOf(perMinute(5)), { unauthenticated })
    await ask()
    handle.mockImplementation(() => Promise.reject(new Error('broken')))
    await ask().catch(() => undefined)
    expect(handle).toHaveBeenCalledTimes(2)
    expect(await left(guesses, { address: '192.0.2.1' })).toBe(3)
  })

  it('keeps a guess whose credentials could not be checked', async () => {
    const guesses = limiterOf(dailyCap({ name: 'guesses', limit: 3, per: ['address'] }))
    const unauthenticated = limitGuesses(guesses, () => ({ address: '192.0.2.1' }))
    const options = { unauthenticated, subject: () => Promise.reject(new Error('no keys')) }
    await expect(start(limiterOf(perMinute(5)), options)()).rejects.toThrow('no keys')
    expect(await left(guesses, { address: '192.0.2.1' })).toBe(2)
  })

  it('delays what its decision delays', async () => {
    const turns = leakyBucket({ name: 'turns', limit: 1, window: '1s', burst: 4, per: ['tenant'] })
    const ask = start(limiterOf(turns))
    await ask()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const second = ask()
    while (vi.getTimerCount() === 0) await new Promise(setImmediate)
    expect(handle).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await second).status).toBe(200)
    expect(handle).toHaveBeenCalledTimes(2)
  })

  it.each<[string, (client: AbortController) => void, (client: AbortController) => void]>([
    ['before', (client) => client.abort(), () => {}],
    ['while it is decided', () => {}, (client) => client.abort()],
  ])('answers 499 to a client that is gone %s, also without a delay', async (_, before, during) => {
    const limiter = limiterOf(perMinute(5))
    const client = new AbortController()
    const leaving = () => {
      during(client)
      return subject()
    }
    before(client)
    const answer = await start(limiter, { subject: leaving })({ signal: client.signal })
    expect([answer.status, answer.body, limitsOf(answer)]).toEqual([499, null, []])
    expect(handle).not.toHaveBeenCalled()
    // Only a call that was never sent is given back.
    await expect.poll(() => left(limiter)).toBe(isDoor ? 5 : 4)
  })

  it.runIf(isDoor)('adds the headers to the 502 of a call that failed', async () => {
    handle.mockImplementation(() => Promise.reject(new Error('broken')))
    const answer = await start(limiterOf(perMinute(5)))()
    expect([answer.status, limitsOf(answer)]).toEqual([502, LIMITS])
  })
})
