import { getEventListeners } from 'node:events'
import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import type { Limiter } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { delay, HANDOFF_HEADER } from '@sluice/core/internal/http'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { NextRequest } from 'next/server.js'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { delaying } from './support.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  const left = vi.getTimerCount()
  vi.useRealTimers()
  if (left > 0) throw new Error(`${left} timers are left`)
})

/** Lets what needs no timer happen, the Web Crypto of a hand-off included. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('delay', () => {
  it('waits for the delay, and resolves to true if it was not aborted', async () => {
    const over = vi.fn<(pending: boolean) => void>()
    void delay(100).then(over)
    await pass(99)
    expect(over).not.toHaveBeenCalled()
    await pass(1)
    expect(over).toHaveBeenCalledExactlyOnceWith(true)
  })

  it('ends when the signal aborts, and leaves no timer and no listener', async () => {
    const controller = new AbortController()
    const pending = delay(100, controller.signal)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
    controller.abort()
    expect(await pending).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  it('leaves no listener after the wait', async () => {
    const { signal } = new AbortController()
    const pending = delay(100, signal)
    await pass(100)
    expect(await pending).toBe(true)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('does not wait if the signal has aborted before', async () => {
    expect(await delay(100, AbortSignal.abort())).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })
})

const subject = () => ({ tenant: 'acme' })
const routes = ['/**']
const url = 'https://app.example/api/ai/chat'

interface Held {
  readonly limiter: Limiter
  readonly maxDelayMs?: number
  readonly ran: () => void
}

/** Each adapter, around a handler that notes that it ran. */
const ADAPTERS: Record<string, (pending: Held) => (init: RequestInit) => Promise<Response>> = {
  'any fetch handler': ({ limiter, ran, ...options }) => {
    const handle = rateLimit(limiter, { routes, subject, ...options }, answering(ran))
    return (init) => handle(new Request(url, init))
  },
  'a Worker': ({ limiter, ran, ...options }) => {
    const handle = rateLimitWorker(() => limiter, { routes, subject, ...options }, answering(ran))
    return (init) => handle(new Request(url, init), {}, {})
  },
  'Next.js middleware': ({ limiter, ran, ...options }) => {
    const next = (): undefined => {
      ran()
    }
    const handle = rateLimitNext(limiter, { routes, subject, next, ...options })
    return (init) => handle(new NextRequest(url, init as never))
  },
  'a wrapped Next.js handler': ({ limiter, ran, ...options }) => {
    const handle = withRateLimit(answering(ran), { limiter, route: 'chat', subject, ...options })
    return (init) => handle(new NextRequest(url, init as never), {})
  },
}

function answering(ran: () => void): () => Response {
  return () => {
    ran()
    return new Response('answer')
  }
}

describe.each(Object.entries(ADAPTERS))('%s', (_, adapter) => {
  const ran = vi.fn<() => void>()
  beforeEach(() => ran.mockClear())

  it('delays an allowed request as its decision says', async () => {
    const answer = adapter({ limiter: delaying(1_500), ran })({})
    await pass(1_499)
    await settle()
    expect(ran).not.toHaveBeenCalled()
    await pass(1)
    expect((await answer).status).toBe(200)
    expect(ran).toHaveBeenCalledOnce()
  })

  it('runs nothing for a client that has gone away, and answers 499 without a body', async () => {
    const controller = new AbortController()
    const asking = adapter({ limiter: delaying(1_500), ran })({ signal: controller.signal })
    await pass(1_000)
    controller.abort()
    const answer = await asking
    expect(vi.getTimerCount()).toBe(0)
    expect([answer.status, answer.body, [...answer.headers]]).toEqual([499, null, []])
    await pass(1_000)
    expect(ran).not.toHaveBeenCalled()
  })

  it('runs nothing for a client that was gone before the decision', async () => {
    const signal = AbortSignal.abort()
    const answer = await adapter({ limiter: delaying(1_500), ran })({ signal })
    expect(answer.status).toBe(499)
    expect(ran).not.toHaveBeenCalled()
  })

  it('delays by 30 seconds at most, or by the configured maximum', async () => {
    for (const [options, ms] of [
      [{}, 30_000],
      [{ maxDelayMs: 700 }, 700],
    ] as const) {
      ran.mockClear()
      const answer = adapter({ limiter: delaying(90_000), ran, ...options })({})
      await pass(ms - 1)
      expect(ran).not.toHaveBeenCalled()
      await pass(1)
      expect((await answer).status).toBe(200)
      expect(ran).toHaveBeenCalledOnce()
    }
  })

  it('does not delay with a maximum of 0', async () => {
    const answer = await adapter({ limiter: delaying(90_000), ran, maxDelayMs: 0 })({})
    expect(answer.status).toBe(200)
    expect(ran).toHaveBeenCalledOnce()
  })

  it('starts no timer when there is no delay', async () => {
    const started = vi.spyOn(globalThis, 'setTimeout')
    await adapter({ limiter: delaying(0), ran })({})
    expect(started).not.toHaveBeenCalled()
    started.mockRestore()
  })

  it.each([-1, 0.5, NaN, Infinity, 3_600_001, '1s', null])(
    'refuses %s as a maximum',
    (maxDelayMs) => {
      const make = () => adapter({ limiter: delaying(0), ran, maxDelayMs: maxDelayMs as number })
      expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option: 'maxDelayMs' }))
    },
  )
})

describe('middleware and a wrapped handler together', () => {
  const secret = 'a secret of at least thirty-two characters'
  const path = [{ path: '/api/ai/chat', id: 'chat' }]

  it('delay a request once', async () => {
    const limiter = delaying(1_500)
    const middleware = rateLimitNext(limiter, { routes: path, subject, secret })
    const ran = vi.fn<() => void>()
    const handler = withRateLimit(answering(ran), { limiter, route: 'chat', subject, secret })
    const passed = middleware(new NextRequest(url))
    await pass(1_500)
    const value = (await passed).headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
    await handler(new NextRequest(url, { headers: { [HANDOFF_HEADER]: value } }), {})
    expect(ran).toHaveBeenCalledOnce()
  })

  it('delay it for longer than a hand-off is valid, as it is signed afterwards', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const limiter = delaying(25_000)
    const middleware = rateLimitNext(limiter, { routes: path, subject, secret })
    const ran = vi.fn<() => void>()
    const handler = withRateLimit(answering(ran), { limiter, route: 'chat', subject, secret })
    const passed = middleware(new NextRequest(url))
    await pass(25_000)
    const value = (await passed).headers.get(`x-middleware-request-${HANDOFF_HEADER}`) ?? ''
    await handler(new NextRequest(url, { headers: { [HANDOFF_HEADER]: value } }), {})
    expect(ran).toHaveBeenCalledOnce()
  })
})
