import { backpressure, leakyBucket, slidingWindow } from '@sluice/core'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { app, delaying, setUpAtMidnight } from './support.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  const left = vi.getTimerCount()
  vi.useRealTimers()
  if (left > 0) throw new Error(`${left} timers are left`)
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('backpressure', () => {
  const policy = slidingWindow({
    name: 'rpm',
    limit: 4,
    window: '1m',
    per: ['tenant'],
    backpressure: backpressure({ from: 0.25, maxMs: 3_000 }),
  })

  it('delays each request longer than the one before, until a denial, which comes at once', async () => {
    const order: string[] = []
    const handle = (request: Request) => {
      order.push(request.headers.get('x-name') ?? '')
      return new Response()
    }
    const ask = app(setUpAtMidnight(policy).limiter, {}, handle)
    const answers = ['a', 'b', 'c', 'd', 'e'].map((name) => ask({ 'x-name': name }))
    expect((await answers[4])?.status).toBe(429)
    await pass(0)
    expect(order).toEqual(['a'])
    await pass(1_000)
    expect(order).toEqual(['a', 'b'])
    await pass(1_000)
    expect(order).toEqual(['a', 'b', 'c'])
    await pass(1_000)
    expect(order).toEqual(['a', 'b', 'c', 'd'])
    await Promise.all(answers)
  })

  it('does not refund a client that went away', async () => {
    const { limiter } = setUpAtMidnight(policy)
    const controller = new AbortController()
    const ask = app(limiter)
    await ask()
    const gone = ask({}, { signal: controller.signal })
    const stays = ask()
    await pass(1)
    controller.abort()
    expect((await gone).status).toBe(499)
    await pass(2_000)
    expect((await stays).headers.get('x-ratelimit-remaining')).toBe('1')
  })

  it('leaves the body of a delayed request readable', async () => {
    const ask = app(delaying(10), {}, async (request) => new Response(await request.text()))
    const answer = ask({}, { method: 'POST', body: 'prompt' })
    await pass(10)
    expect(await (await answer).text()).toBe('prompt')
  })
})

describe('a leaky bucket', () => {
  const policy = leakyBucket({ name: 'shape', limit: 1, window: '1s', burst: 4, per: ['tenant'] })

  it('lets concurrent requests go on one after another, each at its turn', async () => {
    const order: string[] = []
    const handle = (request: Request) => {
      order.push(request.headers.get('x-name') ?? '')
      return new Response()
    }
    const controller = new AbortController()
    const ask = app(setUpAtMidnight(policy).limiter, {}, handle)
    const answers = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      ask({ 'x-name': name }, name === 'c' ? { signal: controller.signal } : {}),
    )
    expect((await answers[4])?.status).toBe(429)
    await pass(0)
    expect(order).toEqual(['a'])
    await pass(999)
    expect(order).toEqual(['a'])
    await pass(1)
    expect(order).toEqual(['a', 'b'])
    controller.abort()
    // A client that goes away does not bring the others forward.
    await pass(1_999)
    expect(order).toEqual(['a', 'b'])
    await pass(1)
    expect(order).toEqual(['a', 'b', 'd'])
    const statuses = (await Promise.all(answers)).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 499, 200, 429])
  })

  it('reports its burst as the limit, with nothing remaining', async () => {
    const answer = await app(setUpAtMidnight(policy).limiter)()
    expect(answer.headers.get('x-ratelimit-limit')).toBe('4')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('3')
    expect(answer.headers.get('ratelimit-policy')).toBe('"shape";q=4;w=4')
  })
})
