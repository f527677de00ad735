import { concurrency, leakyBucket, slidingWindow } from '@sluice/core'
import { LIST_PRICES, modelHandler, usd, type CallToSend, type Usage } from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { BUDGET, limiterOf, limiterWith, PRICES, used } from './doors.ts'
import * as recorded from './recordings.ts'
import { sourceOf, bytesOf } from './support.ts'

const subject = (): { tenant: string } => ({ tenant: 'acme' })
const QUESTION = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Why is the sky blue?' }] }

const post = (body: unknown, init: RequestInit = {}): Request =>
  new Request('https://app.example/v1/chat/completions', {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  })

const sse = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'text/event-stream' } })

/** A handler in front of a provider that answers this, and the calls that it was sent. */
function handlerOf(
  answer: (call: CallToSend) => Response | Promise<Response>,
  options: object = {},
) {
  const limiter = limiterOf()
  const calls: CallToSend[] = []
  const usages: Usage[] = []
  const handle = modelHandler(
    limiter,
    { subject, prices: PRICES, onUsage: (usage) => usages.push(usage), ...options },
    (call) => {
      calls.push(call)
      return answer(call)
    },
  )
  return { limiter, calls, usages, handle }
}

/** The body that a provider was sent. */
const sentTo = (calls: readonly CallToSend[]): Record<string, unknown> =>
  JSON.parse(calls[0]?.body ?? '') as Record<string, unknown>

/** The maxima that a provider is sent. */
async function maxima(body: object, options: object = {}) {
  const { handle, calls } = handlerOf(() => Response.json(recorded.CHAT_JSON), options)
  await (await handle(post({ ...QUESTION, ...body }))).text()
  const { max_tokens, max_completion_tokens } = sentTo(calls)
  return { max_tokens, max_completion_tokens }
}

describe('a model handler', () => {
  it('holds the most that a call may use, and settles what it used', async () => {
    let held = 0
    const { handle, limiter, usages } = handlerOf(async () => {
      held = await used(limiter, 'budget.daily')
      return Response.json(recorded.CHAT_JSON)
    })
    const answer = await handle(post({ ...QUESTION, max_tokens: 1_000 }))
    expect(await answer.json()).toEqual(recorded.CHAT_JSON)
    expect(held).toBeGreaterThan(10_000)
    await vi.waitFor(() => expect(usages).toHaveLength(1))
    expect(await used(limiter, 'budget.daily')).toBe(1_204 + 3_100)
    expect(await used(limiter, 'tpm')).toBe(1_514)
    expect(await used(limiter, 'rpm')).toBe(1)
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('passes a stream on as it comes, with the headers of the limits', async () => {
    const { handle, calls } = handlerOf(() => sse(recorded.CHAT_SSE))
    const answer = await handle(post({ ...QUESTION, stream: true }))
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.headers.get('ratelimit')).toContain('"budget.daily"')
    expect(await answer.text()).toBe(recorded.CHAT_SSE)
    expect(sentTo(calls)['stream_options']).toEqual({ include_usage: true })
  })

  it('sends a maximum under the one name that the provider honours', async () => {
    expect(await maxima({})).toEqual({ max_completion_tokens: 4_096 })
    expect(await maxima({ max_tokens: 7 })).toEqual({ max_completion_tokens: 7 })
    expect(await maxima({ max_tokens: 9, max_completion_tokens: 8 })).toEqual({
      max_completion_tokens: 8,
    })
    expect(await maxima({ max_tokens: 900 }, { maxOutput: 50 })).toEqual({
      max_completion_tokens: 50,
    })
    const other = { model: 'deepseek-chat', max_completion_tokens: 1, max_tokens: 500 }
    expect(await maxima(other)).toEqual({ max_tokens: 500 })
  })

  it('answers 429 in the shape of OpenAI when the budget is spent, before the provider is asked', async () => {
    const { handle, calls } = handlerOf(() => Response.json(recorded.CHAT_JSON))
    const answer = await handle(post({ ...QUESTION, max_tokens: BUDGET, n: 1 }))
    // 4,096 tokens at ten micro-dollars are affordable; the maximum that is sent is cut to that.
    expect(answer.status).toBe(200)
    await answer.text()
    const dear = handlerOf(() => Response.json(recorded.CHAT_JSON), { maxOutput: 1_000_000 })
    const denied = await dear.handle(
      post(QUESTION.model ? { ...QUESTION, max_tokens: 200_000 } : {}),
    )
    expect(denied.status).toBe(429)
    expect(denied.headers.get('x-should-retry')).toBe('false')
    expect(await denied.json()).toMatchObject({ error: { message: expect.any(String) as string } })
    expect(dear.calls).toEqual([])
    expect(calls).toHaveLength(1)
  })

  it('answers 402 without a wait when a budget is used up, if that is chosen', async () => {
    const options = { spentStatus: 402 }
    const { handle, limiter, calls } = handlerOf(() => Response.json(recorded.CHAT_JSON), options)
    await limiter.check({ tenant: 'acme' }, { cost: { usd: BUDGET - 1, token: 0 } })
    const denied = await handle(post(QUESTION))
    expect(denied.status).toBe(402)
    expect(denied.headers.get('retry-after')).toBeNull()
    expect(denied.headers.get('x-should-retry')).toBe('false')
    expect(await denied.json()).toMatchObject({ error: { code: 'daily_quota_exceeded' } })
    expect(calls).toEqual([])
  })

  it('speaks to clients of Anthropic as Anthropic does', async () => {
    const { handle } = handlerOf(() => Response.json(recorded.MESSAGES_JSON), {
      maxOutput: 1_000_000,
    })
    const body = { ...QUESTION, model: 'claude-opus-4-5', max_tokens: 200_000 }
    const denied = await handle(
      new Request('https://app.example/v1/messages', {
        method: 'POST',
        body: JSON.stringify(body),
      }),
    )
    expect(denied.status).toBe(429)
    expect(await denied.json()).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error' },
    })
  })

  it('answers what cannot be counted in the shape of the provider', async () => {
    const { handle, calls } = handlerOf(() => Response.json(recorded.CHAT_JSON))
    const statusOf = async (body: unknown) => {
      const answer = await handle(post(body))
      return [answer.status, ((await answer.json()) as { error: { code: string } }).error.code]
    }
    expect(await statusOf('{')).toEqual([400, 'invalid_body'])
    expect(await statusOf('[]')).toEqual([400, 'invalid_body'])
    expect(await statusOf({ messages: [] })).toEqual([400, 'invalid_body'])
    expect(await statusOf({ ...QUESTION, model: 'gpt-99' })).toEqual([400, 'unknown_model'])
    expect(await statusOf({ ...QUESTION, n: 0.5 })).toEqual([400, 'invalid_body'])
    expect(await statusOf({ ...QUESTION, max_tokens: '5' })).toEqual([400, 'invalid_body'])
    expect(calls).toEqual([])
  })

  it('answers 413 to a body that is too large, and 401 to nobody', async () => {
    const { handle } = handlerOf(() => Response.json({}), { maxBodyBytes: 100 })
    expect((await handle(post({ ...QUESTION, user: 'x'.repeat(100) }))).status).toBe(413)
    const nobody = handlerOf(() => Response.json({}), { subject: () => null })
    expect((await nobody.handle(post(QUESTION))).status).toBe(401)
  })

  it('offers the models that are listed, by the names that are chosen for them', async () => {
    const { handle, calls } = handlerOf(() => Response.json(recorded.CHAT_JSON), {
      models: { fast: 'gpt-4o' },
    })
    expect((await handle(post(QUESTION))).status).toBe(400)
    await (await handle(post({ ...QUESTION, model: 'fast' }))).text()
    expect(sentTo(calls)['model']).toBe('gpt-4o')
  })

  it('gives back what an error of the provider did not use, and counts the request', async () => {
    const { handle, limiter } = handlerOf(() => Response.json({ error: {} }, { status: 500 }))
    expect((await handle(post(QUESTION))).status).toBe(500)
    await vi.waitFor(async () => expect(await used(limiter, 'budget.daily')).toBe(0))
    expect(await used(limiter, 'rpm')).toBe(1)
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('keeps the estimate where no answer came', async () => {
    const onError = vi.fn<(...heard: unknown[]) => void>()
    const { handle, limiter } = handlerOf(() => Promise.reject(new Error('reset')), { onError })
    expect((await handle(post({ ...QUESTION, max_tokens: 1_000 }))).status).toBe(502)
    await vi.waitFor(async () => expect(await used(limiter, 'in-flight')).toBe(0))
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
    expect(onError).toHaveBeenCalledOnce()
  })

  it('keeps the estimate of an answer that the client gave up', async () => {
    const { stream } = sourceOf([bytesOf(recorded.CHAT_SSE.slice(0, 400))], 'open')
    const { handle, limiter, usages } = handlerOf(() => sse(''), {})
    const abandoned = modelHandler(
      limiter,
      { subject, prices: PRICES, onUsage: (usage) => usages.push(usage) },
      () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
    )
    const answer = await abandoned(post({ ...QUESTION, stream: true, max_tokens: 1_000 }))
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await vi.waitFor(() => expect(usages).toMatchObject([{ complete: false }]))
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
    expect(await used(limiter, 'in-flight')).toBe(0)
    expect(handle).toBeTypeOf('function')
  })

  it('charges what a provider says that it cost, if that is more', async () => {
    const { handle, limiter, usages } = handlerOf(() =>
      Response.json({ ...recorded.CHAT_JSON, usage: { ...recorded.CHAT_USAGE, cost: 0.0161 } }),
    )
    await (await handle(post(QUESTION))).text()
    await vi.waitFor(() => expect(usages).toHaveLength(1))
    expect(await used(limiter, 'budget.daily')).toBe(16_100)
  })

  it('calls a provider at an address with its own key, never with that of the client', async () => {
    const seen: Request[] = []
    const fetchBefore = globalThis.fetch
    globalThis.fetch = async (input, init) => {
      seen.push(new Request(input, init))
      return Response.json(recorded.CHAT_JSON)
    }
    try {
      const upstream = { url: 'https://provider.example/v1/chat/completions', key: 'of-the-server' }
      const handle = modelHandler(limiterOf(), { subject, prices: PRICES }, upstream)
      await (
        await handle(post(QUESTION, { headers: { authorization: 'Bearer of-the-client' } }))
      ).text()
    } finally {
      globalThis.fetch = fetchBefore
    }
    expect(seen.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer of-the-server',
    ])
  })

  it('lets no more through at the end of a budget than it holds, however many ask at once', async () => {
    const budget = usd(0.1)
    const limiter = limiterWith(budget)
    let highest = 0
    let calls = 0
    const handle = modelHandler(limiter, { subject, prices: PRICES }, async () => {
      calls += 1
      highest = Math.max(highest, await used(limiter, 'budget.daily'))
      return Response.json(recorded.CHAT_JSON)
    })
    const body = { ...QUESTION, max_tokens: 1_000 }
    const answers = await Promise.all(Array.from({ length: 64 }, () => handle(post(body))))
    await Promise.all(answers.map((answer) => answer.text()))
    // A call may use 10,000 micro-dollars of output and a few of input: nine fit.
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(9)
    expect(calls).toBe(9)
    expect(highest).toBeGreaterThan(90_000)
    expect(highest).toBeLessThanOrEqual(budget)
    await vi.waitFor(async () => expect(await used(limiter, 'budget.daily')).toBe(9 * 4_304))
  })

  it('gives everything back for a client that leaves before its turn, and sends nothing', async () => {
    const turns = leakyBucket({ name: 'turns', limit: 1, window: '1h', burst: 5, per: ['tenant'] })
    const limiter = limiterOf(turns)
    const send = vi.fn<() => Response>(() => Response.json(recorded.CHAT_JSON))
    const handle = modelHandler(limiter, { subject, prices: PRICES }, send)
    await (await handle(post(QUESTION))).text()
    await vi.waitFor(async () => expect(await used(limiter, 'in-flight')).toBe(0))
    const before = await used(limiter, 'budget.daily')
    const gone = await handle(post(QUESTION, { signal: AbortSignal.abort() }))
    expect(gone.status).toBe(499)
    expect(send).toHaveBeenCalledOnce()
    await vi.waitFor(async () => expect(await used(limiter, 'budget.daily')).toBe(before))
  })

  it('counts all spellings of a model as one', async () => {
    const limiter = limiterOf(
      slidingWindow({ name: 'model', limit: 3, window: '1h', per: ['tenant', 'model'] }),
    )
    const handle = modelHandler(limiter, { subject, prices: PRICES }, () =>
      Response.json(recorded.CHAT_JSON),
    )
    const statuses = []
    for (const model of ['gpt-4o', 'GPT-4o', 'openai/gpt-4o', 'gpt-4o-2024-08-06']) {
      statuses.push((await handle(post({ ...QUESTION, model }))).status)
    }
    expect(statuses).toEqual([200, 200, 200, 429])
  })

  it('says at construction which option is wrong', () => {
    const limiter = limiterOf()
    const made = (options: object) => () =>
      modelHandler(limiter, { subject, ...options }, () => Response.json({}))
    expect(made({ maxOutput: 0 })).toThrow('maxOutput')
    expect(made({ onIncomplete: 'refund' })).toThrow('onIncomplete')
    expect(made({ price: LIST_PRICES })).toThrow('modelHandler.price')
    expect(made({ spentStatus: 403 })).toThrow('spentStatus')
    expect(made({ maxBodyBytes: -1 })).toThrow('maxBodyBytes')
  })

  it('says at the first call that a budget needs prices', async () => {
    const handle = modelHandler(limiterOf(), { subject }, () => Response.json({}))
    await expect(handle(post(QUESTION))).rejects.toThrow('prices: must be given')
  })

  it('counts calls in flight while an answer streams', async () => {
    const limiter = limiterOf(concurrency({ name: 'one', limit: 1, per: ['tenant'] }))
    const handle = modelHandler(limiter, { subject, prices: PRICES }, () => sse(recorded.CHAT_SSE))
    const first = await handle(post({ ...QUESTION, stream: true }))
    const second = await handle(post({ ...QUESTION, stream: true }))
    expect([first.status, second.status]).toEqual([200, 429])
    await first.text()
    await vi.waitFor(async () => expect(await used(limiter, 'one')).toBe(0))
    expect((await handle(post({ ...QUESTION, stream: true }))).status).toBe(200)
  })
})
