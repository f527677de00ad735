import { slidingWindow, type Limiter } from '@sluice/core'
import { HANDOFF_HEADER } from '@sluice/core/internal/http'
import { waiting, waitingLine } from '@sluice/core/waiting'
import { rateLimit, withRateLimit } from '@sluice/next'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { holdTimers } from '../adapters/support.ts'
import { setUpAtMidnight } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { request, routes, secret, subject } from './support/one-request.ts'

const lined = waitingLine(
  slidingWindow({ name: 'rpm', limit: 1, window: '1232ms', per: ['tenant'] }),
)
const path = '/api/ai/evaluate'
const cost = waiting('5s')

afterEach(() => void vi.restoreAllMocks())

type Answer = (signal?: AbortSignal) => Promise<Response>

/** The doors of the package before one handler, each with a cost that waits. */
const DOORS: Readonly<Record<string, (limiter: Limiter, handle: () => Response) => Answer>> = {
  'the middleware'(limiter, handle) {
    const middleware = rateLimit(limiter, { routes, subject, cost, next: handle })
    return (signal) => middleware(request(path, { ...(signal && { signal }) }))
  },
  'a route of the middleware'(limiter, handle) {
    const own = routes.map((route) => ({ ...route, cost }))
    const middleware = rateLimit(limiter, { routes: own, subject, next: handle })
    return (signal) => middleware(request(path, { ...(signal && { signal }) }))
  },
  'a wrapped handler'(limiter, handle) {
    const handler = withRateLimit(handle, { limiter, route: 'evaluate', subject, cost })
    return (signal) => handler(request(path, { ...(signal && { signal }) }), {})
  },
}

describe.each(Object.entries(DOORS))('in %s, a cost that waits', (_, door) => {
  /** Holds the second request in the line. */
  async function hold() {
    const waits = holdTimers(1_234)
    const handle = vi.fn<() => Response>(() => new Response('answer'))
    const { limiter, clock } = setUpAtMidnight(lined)
    const ask = door(limiter, handle)
    expect((await ask()).status).toBe(200)
    const client = new AbortController()
    const held = ask(client.signal)
    await expect.poll(() => waits.length).toBe(1)
    expect(handle).toHaveBeenCalledTimes(1)
    clock.advance(1_234)
    return { held, client, handle, limiter, goOn: () => waits[0]?.() }
  }

  it('holds a request until it fits', async () => {
    const { held, handle, goOn } = await hold()
    goOn()
    expect((await held).status).toBe(200)
    expect(handle).toHaveBeenCalledTimes(2)
  })

  it('gives the place up with its client, and no handler runs', async () => {
    const { held, client, handle, limiter } = await hold()
    client.abort()
    // Nobody reads it.
    expect((await held).status).toBe(429)
    expect(handle).toHaveBeenCalledTimes(1)
    await expect.poll(async () => (await limiter.peek(ACME)).allowed).toBe(true)
  })
})

it('is not waited for again behind middleware that has charged the request', async () => {
  const { limiter } = setUpAtMidnight(lined)
  const middleware = rateLimit(limiter, { routes, subject, secret, cost })
  const handler = withRateLimit(() => new Response('answer'), {
    limiter,
    route: 'evaluate',
    subject,
    secret,
    cost,
  })
  const passed = await middleware(request(path))
  const value = passed.headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
  const answer = await handler(request(path, { headers: { [HANDOFF_HEADER]: value } }), {})
  expect(await answer.text()).toBe('answer')
})
