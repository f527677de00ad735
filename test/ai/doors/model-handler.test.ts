import { LIST_PRICES, modelHandler } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import {
  BUDGET,
  PRICES,
  QUESTION,
  handlerOf,
  limiterOf,
  post,
  sentTo,
  sse,
  subject,
} from '../doors.ts'
import * as recorded from '../recordings.ts'

/** The maxima that a provider is sent. */
async function maxima(body: object, options: object = {}) {
  const { handle, calls } = handlerOf(() => Response.json(recorded.CHAT_JSON), options)
  await (await handle(post({ ...QUESTION, ...body }))).text()
  const { max_tokens, max_completion_tokens } = sentTo(calls)
  return { max_tokens, max_completion_tokens }
}

describe('a model handler', () => {
  it('passes a stream on as it comes, with the headers of the limits', async () => {
    const { handle, calls } = handlerOf(() => sse(recorded.CHAT_SSE))
    const asking = { stream: true, stream_options: { include_usage: true } }
    const answer = await handle(post({ ...QUESTION, ...asking }))
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    expect(answer.headers.get('ratelimit')).toContain('"budget.daily"')
    expect(await answer.text()).toBe(recorded.CHAT_SSE)
    expect(sentTo(calls)['stream_options']).toEqual({ include_usage: true })
  })

  it('sends a maximum under the one name that the provider honours', async () => {
    expect(await maxima({})).toEqual({ max_completion_tokens: 16_384 })
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
    // A part of the budget is affordable; the maximum that is sent is cut to that.
    expect(answer.status).toBe(200)
    await answer.text()
    const dear = handlerOf(() => Response.json(recorded.CHAT_JSON), {
      maxOutput: 1_000_000,
      minOutput: 200_000,
    })
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
    await limiter.check({ tenant: 'acme' }, { cost: { usd: BUDGET - 1, token: 0, call: 0 } })
    const denied = await handle(post(QUESTION))
    expect(denied.status).toBe(402)
    expect(denied.headers.get('retry-after')).toBeNull()
    expect(denied.headers.get('x-should-retry')).toBe('false')
    expect(await denied.json()).toMatchObject({ error: { code: 'insufficient_quota' } })
    expect(calls).toEqual([])
  })

  it('speaks to clients of Anthropic as Anthropic does', async () => {
    const { handle } = handlerOf(() => Response.json(recorded.MESSAGES_JSON), {
      api: 'anthropic-messages',
      maxOutput: 1_000_000,
      minOutput: 200_000,
    })
    const body = { ...QUESTION, model: 'claude-opus-4-5', max_tokens: 200_000 }
    const denied = await handle(post(body))
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

  it('says at construction which option is wrong', () => {
    const limiter = limiterOf()
    const made = (options: object) => () =>
      modelHandler(limiter, { subject, api: 'openai-chat', ...options }, () => Response.json({}))
    expect(made({ maxOutput: 0 })).toThrow('maxOutput')
    expect(made({ onIncomplete: 'refund' })).toThrow('onIncomplete')
    expect(made({ price: LIST_PRICES })).toThrow('modelHandler.price')
    expect(made({ spentStatus: 403 })).toThrow('spentStatus')
    expect(made({ maxBodyBytes: -1 })).toThrow('maxBodyBytes')
  })

  it.each([
    ['gpt-4o', 200],
    ['gpt-4o-2024-08-06', 200],
    ['claude-opus-4-5-20251101', 200],
    ['gpt-4o-mini', 400],
    ['gpt-4o-audio-preview-2024-12-17', 400],
    ['gpt-4o-latest', 400],
    ['gpt-4o-2024-08-06-x', 400],
    ['openai/gpt-4o', 400],
    ['gpt-4o-20240806-20240806', 400],
  ])('with a list of models answers %s with %i', async (model, status) => {
    const models = ['gpt-4o', 'claude-opus-4-5']
    const options = { subject, prices: PRICES, models, api: 'openai-chat' as const }
    const handle = modelHandler(limiterOf(), options, () => Response.json({}))
    expect((await handle(post({ ...QUESTION, model }))).status).toBe(status)
  })

  it('says at the first call that a budget of a limiter that is created then needs prices', async () => {
    const handle = modelHandler(
      () => limiterOf(),
      { subject, api: 'openai-chat' },
      () => Response.json({}),
    )
    await expect(handle(post(QUESTION))).rejects.toThrow('modelHandler.prices: must be given')
  })
})
