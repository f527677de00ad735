import { concurrency, createLimiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { upstreamBreaker, type FallbackReason } from '@sluice/core/upstream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refusal } from '../policies/fair-share/refusal.ts'
import { OUTCOMES } from './outcomes.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const fails = async (): Promise<Response> => new Response('down', { status: 503 })
const refuses = async (): Promise<Response> => new Response(null, { status: 404 })
const answers = async (): Promise<Response> => new Response('hello')

function setUp(options: object = {}) {
  const reasons: FallbackReason[] = []
  const model = upstreamBreaker<unknown>({
    fallback: () => 'instead',
    onFallback: (reason) => {
      reasons.push(reason)
    },
    ...options,
  })
  return { model, reasons }
}

describe('upstreamBreaker', () => {
  it('answers by the fallback, opens after failures in a row, tries after each pause, and closes', async () => {
    const { model, reasons } = setUp()
    const upstream = vi.fn<typeof fails>(fails)
    for (let call = 0; call < 8; call += 1) expect(await model.call(upstream)).toBe('instead')
    expect(upstream).toHaveBeenCalledTimes(5)
    expect(model.isOpen).toBe(true)
    expect(reasons.map(({ cause }) => cause)).toEqual([
      ...Array.from({ length: 5 }, () => 'failed'),
      ...Array.from({ length: 3 }, () => 'open'),
    ])
    expect(reasons[0]?.response?.status).toBe(503)

    vi.setSystemTime(Date.now() + 1_000)
    await Promise.all([model.call(upstream), model.call(upstream)])
    expect(upstream).toHaveBeenCalledTimes(6)

    vi.setSystemTime(Date.now() + 1_000)
    expect(await model.call(answers)).toBeInstanceOf(Response)
    expect(model.isOpen).toBe(false)
    expect(model.counts).toEqual({ calls: 7, failures: 6, fallbacks: 10 })
  })

  it('starts to count anew with each answer', async () => {
    const { model } = setUp({ failures: 2 })
    for (const call of [fails, answers, fails, answers, fails]) await model.call(call)
    expect(model.isOpen).toBe(false)
  })

  it.each(OUTCOMES)('after %s', async (_, outcome, says) => {
    const { model, reasons } = setUp({ failures: 1 })
    const made = model.call(async () => {
      if (outcome instanceof Error) throw outcome
      return outcome
    })
    const result = await made.catch((error: unknown) => error)
    expect(result).toBe(says === 'fails' ? 'instead' : outcome)
    expect(model.isOpen).toBe(says === 'fails')
    expect(reasons).toHaveLength(says === 'fails' ? 1 : 0)
  })

  it('starts to count anew with an answer that refuses, and closes with one', async () => {
    const { model } = setUp({ failures: 2 })
    for (const call of [fails, refuses, fails]) await model.call(call)
    expect(model.isOpen).toBe(false)
    await model.call(fails)
    expect(model.isOpen).toBe(true)
    vi.setSystemTime(Date.now() + 1_000)
    await model.call(refuses)
    expect(model.isOpen).toBe(false)
  })

  it('passes on the errors of callers who give up, and tries again at once', async () => {
    const { model } = setUp({ failures: 1 })
    await model.call(fails)
    vi.setSystemTime(Date.now() + 1_000)
    const leaving = new AbortController()
    const left = model.call(() => Promise.reject('Error: aborted'), { signal: leaving.signal })
    leaving.abort()
    await expect(left).rejects.toBe('Error: aborted')
    expect(await model.call(answers)).toBeInstanceOf(Response)
    expect(model.counts.failures).toBe(1)
  })

  it('counts a timeout as a failure, though the signal is aborted', async () => {
    const { model } = setUp({ failures: 1 })
    const late = AbortSignal.abort(new DOMException('too late', 'TimeoutError'))
    expect(await model.call(() => Promise.reject(late.reason), { signal: late })).toBe('instead')
    expect(model.isOpen).toBe(true)
  })

  it('answers a call by its own fallback', async () => {
    const { model } = setUp({ failures: 1 })
    const cached = { fallback: () => 'from a cache' }
    expect(await model.call(fails, cached)).toBe('from a cache')
    expect(await model.call(answers, cached)).toBe('from a cache')
    expect(model.counts.fallbacks).toBe(2)
  })

  it('around a limited call takes no units while it is open', async () => {
    const { model } = setUp({ failures: 1 })
    const policy = concurrency({ name: 'calls', limit: 3, per: 'global' })
    const limiter = createLimiter({ store: memory(), policies: [policy] })
    const limited = async (): Promise<Response> => {
      const call = await reserve(limiter, {})
      if (!call.allowed) return new Response(null, { status: 404 })
      const response = await fails()
      await call.settle(0)
      return response
    }
    for (let call = 0; call < 50; call += 1) expect(await model.call(limited)).toBe('instead')
    expect((await limiter.peek({})).policies[0]?.remaining).toBe(3)
  })

  it('closes the body of a failed answer, and passes on what a fallback throws', async () => {
    const cancelled = vi.fn<() => void>()
    const { model } = setUp({ fallback: () => Promise.reject(new Error('no cache')) })
    const body = new ReadableStream({ cancel: cancelled })
    await expect(model.call(async () => new Response(body, { status: 500 }))).rejects.toThrow(
      'no cache',
    )
    expect(cancelled).toHaveBeenCalledOnce()
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('a bug')
      },
    ],
    ['rejects', () => Promise.reject(new Error('a bug'))],
  ])('logs an onFallback that %s', async (_, onFallback) => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { model } = setUp({ onFallback })
    expect(await model.call(fails)).toBe('instead')
    await new Promise((resolve) => setImmediate(resolve))
    expect(log).toHaveBeenCalledOnce()
  })

  it.each<readonly [string, object, string]>([
    ['no fallback', { fallback: undefined }, 'upstreamBreaker.fallback'],
    ['a fallback that is no function', { fallback: 'sorry' }, 'upstreamBreaker.fallback'],
    ['an onFallback that is no function', { onFallback: 1 }, 'upstreamBreaker.onFallback'],
    ['no failures', { failures: 0 }, 'upstreamBreaker.failures'],
    ['a pause of more than a minute', { pauseMs: 60_001 }, 'upstreamBreaker.pauseMs'],
    ['an unknown option', { pause: 5 }, 'upstreamBreaker.pause'],
  ])('refuses %s', (_, options, option) => {
    expect(refusal(() => setUp(options))[0]).toBe(option)
  })

  it('refuses to call what is no function', async () => {
    const { model } = setUp()
    await expect(model.call(fails() as never)).rejects.toThrow('call.make')
    await expect(model.call(fails, { fallback: 1 } as never)).rejects.toThrow('call.fallback')
    await expect(model.call(fails, { timeout: 1 } as never)).rejects.toThrow('call.timeout')
  })
})
