import { backpressure, concurrency, fixedWindow, InputError, type Limiter } from '@sluice/core'
import { limitGuesses, reservationOf, reserving } from '@sluice/core/http'
import { waiting } from '@sluice/core/waiting'
import { HANDOFF_HEADER } from '@sluice/core/internal/http'
import { rateLimit, withRateLimit, type RouteLimitOptions } from '@sluice/next'
import { describe, expect, it, vi } from 'vitest'
import { ACME, setUp } from '../support/limiters.ts'
import { limiterOfOne, request, routes, secret, subject } from './support/one-request.ts'

const common = { window: '1h', per: ['tenant'] } as const
const policies = [
  fixedWindow({ name: 'rpm', limit: 10, ...common }),
  fixedWindow({ name: 'tpm', limit: 1_000, unit: 'token', ...common }),
  concurrency({ name: 'calls', limit: 2, per: ['tenant'] }),
]

async function left(limiter: Limiter) {
  const { policies: states } = await limiter.peek(ACME, { cost: { token: 0, call: 0 } })
  return states.map(({ remaining }) => remaining)
}

/** A wrapped handler that settles at 30 tokens, and middleware that charges its requests. */
function pair(limiter: Limiter, options: Partial<RouteLimitOptions> = {}) {
  const handle = vi.fn<(incoming: Request) => Promise<Response>>(async (incoming) => {
    expect(reservationOf(incoming).subject).toEqual({ tenant: 'acme', route: 'evaluate' })
    await reservationOf(incoming).settle({ token: 30 })
    return new Response('answer')
  })
  const cost = reserving(async (incoming: Request) => ({
    token: Number(await incoming.clone().text()),
  }))
  const handler = withRateLimit(handle, {
    limiter,
    route: 'evaluate',
    subject,
    secret,
    cost,
    ...options,
  })
  const middleware = rateLimit(limiter, {
    routes,
    subject,
    secret,
    cost: { token: 0, call: 0 },
  })
  /** Sends a request through the middleware, unless it goes around it. */
  async function ask(body: string, isAround = false): Promise<Response> {
    const headers: Record<string, string> = {}
    if (!isAround) {
      const passed = await middleware(request('/api/ai/evaluate', { body }))
      headers[HANDOFF_HEADER] = passed.headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
    }
    return handler(request('/api/ai/evaluate', { body, headers }), { params: {} })
  }
  return { ask, handle }
}

describe('a wrapped handler that reserves', () => {
  it('charges one request, whether it goes through the middleware or around it', async () => {
    const { limiter } = setUp(policies)
    const { ask } = pair(limiter)
    expect((await ask('400')).headers.get('ratelimit')).toContain('"tpm";r=600')
    expect(await left(limiter)).toEqual([9, 970, 2])
    await ask('400', true)
    expect(await left(limiter)).toEqual([8, 940, 2])
  })

  it('still denies what the middleware has not charged', async () => {
    const { limiter } = setUp(policies)
    const { ask, handle } = pair(limiter)
    const answer = await ask('1001')
    expect(answer.status).toBe(429)
    expect(await answer.json()).toMatchObject({ policy: 'tpm' })
    expect(handle).not.toHaveBeenCalled()
    expect(await left(limiter)).toEqual([9, 1_000, 2])
  })

  it('charges one request for a body that the cost refuses, also behind the middleware', async () => {
    const { limiter } = setUp(policies)
    const cost = reserving(() => {
      throw new InputError('invalid_body', 'body', 'must be another')
    })
    const { ask, handle } = pair(limiter, { cost })
    expect((await ask('400')).status).toBe(400)
    expect(await left(limiter)).toEqual([9, 1_000, 2])
    expect((await ask('400', true)).status).toBe(400)
    expect(await left(limiter)).toEqual([8, 1_000, 2])
    expect(handle).not.toHaveBeenCalled()
  })

  it('lets the last request in that the middleware has charged', async () => {
    const { limiter } = setUp(policies)
    const { ask } = pair(limiter)
    const statuses = []
    for (let time = 0; time < 10; time += 1) statuses.push((await ask('1')).status)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(await left(limiter)).toEqual([0, 700, 2])
    expect((await ask('1', true)).status).toBe(429)
  })

  it('finds the subject once behind the middleware, and charges no guess', async () => {
    const { limiter } = setUp(policies)
    const find = vi.fn<typeof subject>(subject)
    const guesser = vi.fn<() => { tenant: string }>(() => ({ tenant: 'an address' }))
    const unauthenticated = limitGuesses(limiterOfOne(), guesser)
    const { ask } = pair(limiter, { subject: find, unauthenticated })
    for (let time = 0; time < 3; time += 1) expect((await ask('1')).status).toBe(200)
    expect(find).toHaveBeenCalledTimes(3)
    expect(guesser).not.toHaveBeenCalled()
    await ask('1', true)
    expect(guesser).toHaveBeenCalledOnce()
  })

  it.each([
    ['a number', reserving(5)],
    ['an object with requests', reserving({ request: 5 })],
    ['an object without them', reserving({})],
  ])('reserves no requests behind the middleware if its cost is %s', async (_, cost) => {
    const { limiter } = setUp([fixedWindow({ name: 'rpm', limit: 10, ...common })])
    const handler = withRateLimit(() => new Response(), {
      limiter,
      route: 'evaluate',
      subject,
      secret,
      cost,
    })
    const passed = await rateLimit(limiter, { routes, subject, secret })(
      request('/api/ai/evaluate'),
    )
    const value = passed.headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
    await handler(request('/api/ai/evaluate', { headers: { [HANDOFF_HEADER]: value } }), {})
    expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(9)
  })

  it('names the route in the error of a cost, also behind the middleware', async () => {
    const { ask } = pair(setUp(policies).limiter)
    await expect(ask('-1')).rejects.toThrow(
      /^Sluice: cost\.token: .* on the route "evaluate" \(docs/,
    )
    await expect(ask('-1', true)).rejects.toThrow(
      /^Sluice: cost\.token: .* on the route "evaluate" \(docs/,
    )
  })

  it('creates one limiter of a function for both ways', async () => {
    const make = vi.fn<() => Limiter>(() => setUp(policies).limiter)
    const handler = withRateLimit(() => new Response(), {
      limiter: make,
      route: 'evaluate',
      subject,
      secret,
      cost: reserving({ token: 1 }),
    })
    const { limiter } = setUp(policies)
    const options = { routes, subject, secret, cost: { token: 0 } }
    const passed = await rateLimit(limiter, options)(request('/api/ai/evaluate'))
    const value = passed.headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
    await handler(request('/api/ai/evaluate', { headers: { [HANDOFF_HEADER]: value } }), {})
    await handler(request('/api/ai/evaluate'), {})
    expect(make).toHaveBeenCalledOnce()
  })

  it('keeps work running by the option waitUntil, such as after', async () => {
    const { limiter } = setUp(policies)
    const kept: Promise<unknown>[] = []
    const handler = withRateLimit(() => new Response('answer'), {
      limiter,
      route: 'evaluate',
      subject,
      cost: reserving({ token: 1 }),
      waitUntil: (promise) => void kept.push(promise),
    })
    const answer = await handler(request('/x'), { params: {} })
    expect(kept).toHaveLength(1)
    expect(await left(limiter)).toEqual([9, 999, 1])
    await answer.text()
    await Promise.all(kept)
    expect(await left(limiter)).toEqual([9, 999, 2])
  })
})

describe('middleware', () => {
  const reserved = reserving({ token: 1 })
  it.each([
    ['cost', { cost: reserved }],
    ['cost', { cost: waiting('20s', reserved) }],
    ['routes[1].cost', { routes: ['/a', { path: '/b', cost: reserved }] }],
  ])('refuses to reserve, by its option %s', (option, wrong) => {
    const make = () => rateLimit(limiterOfOne(), { routes, subject, ...wrong })
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
    expect(make).toThrow('must not be reserved in middleware; set cost: reserving(…) in')
  })
})

it('a reservation delays a request by its own policies', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const slow = { backpressure: backpressure({ from: 0, maxMs: 1_000 }), ...common }
  const tpm = fixedWindow({ name: 'tpm', limit: 100, unit: 'token', ...slow })
  const { limiter } = setUp([tpm, concurrency({ name: 'calls', limit: 2, per: ['tenant'] })])
  const { ask, handle } = pair(limiter)
  const answer = ask('50')
  while (vi.getTimerCount() === 0) await new Promise(setImmediate)
  await vi.advanceTimersByTimeAsync(499)
  expect(handle).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect((await answer).status).toBe(200)
  vi.useRealTimers()
})
