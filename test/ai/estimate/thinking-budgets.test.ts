import { createAnthropic } from '@ai-sdk/anthropic'
import {
  limitedFetch,
  limitedModel,
  modelHandler,
  type CallOptions,
  type ModelApi,
} from '@sluice/ai'
import { generateText } from 'ai'
import { describe, expect, it } from 'vitest'
import { limiterOf, PRICES, subject, used } from '../doors.ts'

type Body = Readonly<Record<string, unknown>>

const MESSAGES = [{ role: 'user', content: 'Why?' }]
const BUDGET = 10_000

/** The ways to ask for thinking of so many tokens, and the maximum that goes with each. */
const FIELDS: readonly [name: string, api: ModelApi, maximum: string, body: Body][] = [
  [
    'thinking.budget_tokens',
    'anthropic-messages',
    'max_tokens',
    { messages: MESSAGES, thinking: { type: 'enabled', budget_tokens: BUDGET } },
  ],
  [
    'reasoning.max_tokens',
    'openai-responses',
    'max_output_tokens',
    { input: 'Why?', reasoning: { max_tokens: BUDGET } },
  ],
  [
    'reasoning.max_tokens',
    'openai-chat',
    'max_tokens',
    { messages: MESSAGES, reasoning: { max_tokens: BUDGET } },
  ],
  [
    'thinking.budget_tokens',
    'openai-chat',
    'max_tokens',
    { messages: MESSAGES, thinking: { type: 'enabled', budget_tokens: BUDGET } },
  ],
]

const PATHS: Readonly<Record<string, string>> = {
  'anthropic-messages': '/v1/messages',
  'openai-responses': '/v1/responses',
  'openai-chat': '/v1/chat/completions',
}

/** A provider that wants the budget to be below the maximum, as Anthropic does, and how much was held then. */
function setUp() {
  const limiter = limiterOf()
  const seen: { maximum: number; held: number }[] = []
  const answer = async (text: string, maximum: string): Promise<Response> => {
    const body = JSON.parse(text) as Record<string, unknown>
    seen.push({ maximum: Number(body[maximum]), held: await used(limiter, 'budget.daily') })
    if (Number(body[maximum]) <= BUDGET) return Response.json({ error: {} }, { status: 400 })
    const usage = { input_tokens: 20, output_tokens: 10 }
    const content = [{ type: 'text', text: 'Because.' }]
    const model = 'claude-opus-4-5'
    return Response.json({ type: 'message', id: 'm', role: 'assistant', model, content, usage })
  }
  return { limiter, seen, answer }
}

type Door = (
  api: ModelApi,
  maximum: string,
  options: Partial<CallOptions>,
) => ReturnType<typeof setUp> & { readonly call: (body: Body) => Promise<Response> }

const modelOf = (api: ModelApi): string =>
  api === 'anthropic-messages' ? 'claude-opus-4-5' : 'deepseek-chat'

const DOORS: Readonly<Record<string, Door>> = {
  modelHandler(api, maximum, options) {
    const { limiter, seen, answer } = setUp()
    const handle = modelHandler(
      limiter,
      { subject, api, prices: PRICES, allowFields: ['reasoning', 'thinking'], ...options },
      ({ body }) => answer(body, maximum),
    )
    const call = (body: Body) =>
      handle(
        new Request('https://app.example/', {
          method: 'POST',
          body: JSON.stringify({ model: modelOf(api), ...body }),
        }),
      )
    return { limiter, seen, answer, call }
  },
  limitedFetch(api, maximum, options) {
    const { limiter, seen, answer } = setUp()
    const limited = limitedFetch(limiter, {
      subject: subject(),
      prices: PRICES,
      allowFields: ['reasoning', 'thinking'],
      fetch: async (_, init) => answer(init?.body as string, maximum),
      ...options,
    })
    const call = (body: Body) =>
      limited(`https://api.example${PATHS[api]}`, {
        method: 'POST',
        body: JSON.stringify({ model: modelOf(api), ...body }),
      })
    return { limiter, seen, answer, call }
  },
}

describe.each(Object.entries(DOORS))('%s', (_, door) => {
  describe.each(FIELDS)('with %s of %s', (_name, api, maximum, body) => {
    it('has a default maximum above the budget, and reserves both', async () => {
      for (const asked of [undefined, 16_000, 100_000]) {
        const { seen, call } = door(api, maximum, {})
        const answer = await call({ ...body, ...(asked && { [maximum]: asked }) })
        expect(answer.status).toBe(200)
        expect(seen).toHaveLength(1)
        const most = seen[0]?.maximum ?? 0
        expect(most).toBeGreaterThan(BUDGET)
        expect(most).toBeLessThanOrEqual(Math.min(asked ?? Infinity, BUDGET + 16_384))
        expect(seen[0]?.held).toBeGreaterThanOrEqual(10 * most)
      }
    })

    it("keeps the client's own maximum, whether the provider takes it or not", async () => {
      for (const asked of [BUDGET + 500, BUDGET, 500]) {
        const { seen, call } = door(api, maximum, {})
        await call({ ...body, [maximum]: asked })
        expect(seen[0]?.maximum).toBe(asked)
      }
    })

    it('refuses a budget that a maxOutput of your own has no room for', async () => {
      for (const maxOutput of [4_096, BUDGET]) {
        const { seen, call, limiter } = door(api, maximum, { maxOutput })
        const answer = await call({ ...body, [maximum]: 16_000 })
        expect(answer.status).toBe(400)
        expect(await answer.text()).toContain(
          `body.${maximum}: is at most ${maxOutput} here: lower the thinking budget below that`,
        )
        expect(seen).toEqual([])
        expect(await used(limiter, 'budget.daily')).toBe(0)
      }
      const roomy = door(api, maximum, { maxOutput: BUDGET + 1 })
      expect((await roomy.call(body)).status).toBe(200)
    })
  })
})

it('limitedModel reserves what the AI SDK adds to its maximum', async () => {
  for (const maxOutput of [undefined, 500]) {
    const { limiter, seen, answer } = setUp()
    const fetch = async (__: unknown, init?: RequestInit) =>
      answer(init?.body as string, 'max_tokens')
    const inner = createAnthropic({ apiKey: 'none', fetch })('claude-opus-4-5')
    const model = limitedModel(inner, limiter, {
      subject: subject(),
      prices: PRICES,
      ...(maxOutput && { maxOutput }),
    })
    const thinking = { type: 'enabled', budgetTokens: BUDGET } as const
    await generateText({ model, prompt: 'Why?', providerOptions: { anthropic: { thinking } } })
    const most = BUDGET + (maxOutput ?? 16_384)
    expect(seen[0]?.maximum).toBe(most)
    expect(seen[0]?.held).toBeGreaterThanOrEqual(10 * most)
  }
})
