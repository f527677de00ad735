import { concurrency, createLimiter, leakyBucket, manualClock, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { release, type Unsettled } from '@sluice/core/reservations'
import { definePrices, modelHandler, modelPolicies, usd } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import {
  PRICES,
  QUESTION,
  handlerOf,
  limiterOf,
  limiterWith,
  post,
  sse,
  subject,
  used,
} from '../doors.ts'
import { NOON } from '../../support/times.ts'
import * as recorded from '../recordings.ts'
import { bytesOf, sourceOf } from '../support.ts'

describe('the charge of a model handler', () => {
  it('holds the most that a call may use, and settles what it used', async () => {
    let held = 0
    const { handle, limiter, usages } = handlerOf(async () => {
      held = await used(limiter, 'budget.daily')
      return Response.json(recorded.CHAT_JSON)
    })
    const answer = await handle(post({ ...QUESTION, max_tokens: 1_000 }))
    expect(await answer.json()).toEqual(recorded.CHAT_JSON)
    expect(held).toBeGreaterThan(10_000)
    await expect.poll(() => usages).toHaveLength(1)
    expect(await used(limiter, 'budget.daily')).toBe(1_204 + 3_100)
    expect(await used(limiter, 'tpm')).toBe(1_514)
    expect(await used(limiter, 'rpm')).toBe(1)
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('gives back what an error of the provider did not use, and counts the request', async () => {
    const { handle, limiter } = handlerOf(() => Response.json({ error: {} }, { status: 500 }))
    expect((await handle(post(QUESTION))).status).toBe(500)
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(0)
    expect(await used(limiter, 'rpm')).toBe(1)
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('keeps the estimate where no answer came', async () => {
    const onError = vi.fn<(...heard: unknown[]) => void>()
    const { handle, limiter } = handlerOf(() => Promise.reject(new Error('reset')), { onError })
    expect((await handle(post({ ...QUESTION, max_tokens: 1_000 }))).status).toBe(502)
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
    expect(onError).toHaveBeenCalledOnce()
  })

  it('keeps the estimate of an answer that the client gave up', async () => {
    const { stream } = sourceOf([bytesOf(recorded.CHAT_SSE.slice(0, 400))], 'open')
    const { handle, limiter, usages } = handlerOf(() => sse(''), {})
    const abandoned = modelHandler(
      limiter,
      { subject, api: 'openai-chat', prices: PRICES, onUsage: (usage) => usages.push(usage) },
      () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
    )
    const answer = await abandoned(post({ ...QUESTION, stream: true, max_tokens: 1_000 }))
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await expect.poll(() => usages).toMatchObject([{ complete: false }])
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
    expect(await used(limiter, 'in-flight')).toBe(0)
    expect(handle).toBeTypeOf('function')
  })

  it('charges what a provider says that it cost, if that is more', async () => {
    const { handle, limiter, usages } = handlerOf(() =>
      Response.json({ ...recorded.CHAT_JSON, usage: { ...recorded.CHAT_USAGE, cost: 0.0161 } }),
    )
    await (await handle(post(QUESTION))).text()
    await expect.poll(() => usages).toHaveLength(1)
    expect(await used(limiter, 'budget.daily')).toBe(16_100)
  })

  it('charges an advisor at its own price, or at that of the model if it has none', async () => {
    const prices = definePrices(
      { 'dear-model': { input: 0, output: 70_000_000 } },
      { base: PRICES },
    )
    for (const [model, price] of [
      ['dear-model', 70],
      ['unlisted-model', 10],
    ] as const) {
      const advisor = { type: 'advisor_message', model, input_tokens: 0, output_tokens: 100 }
      const usage = { input_tokens: 10, output_tokens: 20, iterations: [advisor] }
      const { handle, limiter, usages } = handlerOf(
        () => Response.json({ type: 'message', model: 'claude-opus-4-5', usage }),
        { prices, api: 'anthropic-messages' },
      )
      const body = { ...QUESTION, model: 'claude-opus-4-5', max_tokens: 100 }
      await (await handle(post(body))).text()
      await expect.poll(() => usages).toHaveLength(1)
      expect(await used(limiter, 'budget.daily')).toBe(10 + 200 + 100 * price)
    }
  })

  it('lets no more through at the end of a budget than it holds, however many ask at once', async () => {
    const budget = usd(0.1)
    const limiter = limiterWith(budget)
    let highest = 0
    let calls = 0
    const handle = modelHandler(
      limiter,
      { subject, api: 'openai-chat', prices: PRICES },
      async () => {
        calls += 1
        highest = Math.max(highest, await used(limiter, 'budget.daily'))
        return Response.json(recorded.CHAT_JSON)
      },
    )
    const body = { ...QUESTION, max_tokens: 1_000 }
    const answers = await Promise.all(Array.from({ length: 64 }, () => handle(post(body))))
    await Promise.all(answers.map((answer) => answer.text()))
    // A call may use 10,000 micro-dollars of output and a few of input: nine fit.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
    expect(calls).toBe(9)
    expect(highest).toBeGreaterThan(90_000)
    expect(highest).toBeLessThanOrEqual(budget)
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(9 * 4_304)
  })

  it('gives everything back for a client that leaves before its turn, and sends nothing', async () => {
    const turns = leakyBucket({ name: 'turns', limit: 1, window: '1h', burst: 5, per: ['tenant'] })
    const limiter = limiterOf(turns)
    const send = vi.fn<() => Response>(() => Response.json(recorded.CHAT_JSON))
    const handle = modelHandler(limiter, { subject, api: 'openai-chat', prices: PRICES }, send)
    await (await handle(post(QUESTION))).text()
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    const before = await used(limiter, 'budget.daily')
    const gone = await handle(post(QUESTION, { signal: AbortSignal.abort() }))
    expect(gone.status).toBe(499)
    expect(send).toHaveBeenCalledOnce()
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(before)
  })

  it('counts all spellings of a model as one', async () => {
    const limiter = limiterOf(
      slidingWindow({ name: 'model', limit: 3, window: '1h', per: ['tenant', 'model'] }),
    )
    const handle = modelHandler(limiter, { subject, api: 'openai-chat', prices: PRICES }, () =>
      Response.json(recorded.CHAT_JSON),
    )
    const statuses = []
    for (const model of ['gpt-4o', 'GPT-4o', 'openai/gpt-4o', 'gpt-4o-2024-08-06']) {
      statuses.push((await handle(post({ ...QUESTION, model }))).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('counts calls in flight while an answer streams', async () => {
    const limiter = limiterOf(concurrency({ name: 'one', limit: 1, per: ['tenant'] }))
    const handle = modelHandler(limiter, { subject, api: 'openai-chat', prices: PRICES }, () =>
      sse(recorded.CHAT_SSE),
    )
    const first = await handle(post({ ...QUESTION, stream: true }))
    const second = await handle(post({ ...QUESTION, stream: true }))
    expect([first.status, second.status]).toEqual([200, 429])
    await first.text()
    await expect.poll(() => used(limiter, 'one')).toBe(0)
    expect((await handle(post({ ...QUESTION, stream: true }))).status).toBe(200)
  })

  it('gives back a call whose process died, if that is chosen', async () => {
    const options = {
      subject,
      api: 'openai-chat',
      prices: PRICES,
      maxOutput: 40_000,
      minOutput: 40_000,
      settleWithin: '10m',
    } as const
    const statusAfter = async (unsettled?: Unsettled): Promise<number> => {
      const clock = manualClock(NOON)
      const policies = modelPolicies({ per: ['tenant'], daily: usd(1) })
      const limiter = createLimiter({ store: memory(), clock, policies })
      // An answer that nobody reads is never settled, as when its process dies.
      const { stream } = sourceOf([], 'open')
      const answers = [new Response(stream), Response.json(recorded.CHAT_JSON)]
      const handle = modelHandler(
        limiter,
        { ...options, ...(unsettled && { unsettled }) },
        () => answers.shift() ?? new Response(null, { status: 500 }),
      )
      await handle(post({ ...QUESTION, n: 2 }))
      expect((await handle(post(QUESTION))).status).toBe(429)
      clock.advance(600_000)
      return (await handle(post(QUESTION))).status
    }
    expect(await statusAfter()).toBe(429)
    expect(await statusAfter(release())).toBe(200)
  })
})
