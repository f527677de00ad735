import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import {
  definePrices,
  limitedFetch,
  limitedModel,
  LIST_PRICES,
  modelHandler,
  modelPolicies,
  prepareModelCalls,
  type CallOptions,
} from '@sluice/ai'
import { reasoningTokens } from '@sluice/ai/formats'
import { withBudget } from '@sluice/ai/with-budget'
import { createLimiter, manualClock, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { generateText } from 'ai'
import OpenAI from 'openai'
import { describe, expect, it, vi } from 'vitest'
import { NOON } from '../support/times.ts'
import { PATIENTLY } from '../support/patience.ts'

const RATE = 10
const rates = { input: 1_000_000, output: RATE * 1_000_000, maxOutput: 64_000 }
const PRICES = definePrices(
  Object.fromEntries(['gpt-5', 'claude-opus-5', 'gemini-2.5-pro'].map((name) => [name, rates])),
)
const QUESTION = 'Why is the sky blue?'
const messages = [{ role: 'user' as const, content: QUESTION }]
const USUAL = 16_384
/** The tokens that a stand-in thinks before it says anything, and those of its answer. */
const [THOUGHTS, ANSWER] = [9_000, 300]

/** A provider whose models think before they answer, within one maximum. It keeps what each answer had. */
function provider() {
  const answers: { maximum: number; text: string; output: number }[] = []
  const fetch = async (_: unknown, init?: RequestInit): Promise<Response> => {
    const body = JSON.parse(init?.body as string) as Record<string, unknown>
    const { model } = body
    const maximum = Number(
      body['max_completion_tokens'] ?? body['max_output_tokens'] ?? body['max_tokens'],
    )
    const output = Math.min(maximum, THOUGHTS + ANSWER)
    const isCut = output < THOUGHTS + ANSWER
    const text = output > THOUGHTS ? 'Because.' : ''
    answers.push({ maximum, text, output })
    if ('input' in body) {
      const content = [{ type: 'output_text', text, annotations: [] }]
      const message = { type: 'message', id: 'm', role: 'assistant', status: 'completed', content }
      return Response.json({
        id: 'r',
        object: 'response',
        created_at: 1,
        status: isCut ? 'incomplete' : 'completed',
        incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
        model,
        output: [{ type: 'reasoning', id: 'rs', summary: [] }, ...(text ? [message] : [])],
        usage: {
          input_tokens: 10,
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: Math.min(output, THOUGHTS) },
        },
      })
    }
    if (String(model).startsWith('claude')) {
      const content = [
        { type: 'thinking', thinking: '', signature: 's' },
        ...(text ? [{ type: 'text', text }] : []),
      ]
      const stop_reason = isCut ? 'max_tokens' : 'end_turn'
      const usage = { input_tokens: 10, output_tokens: output }
      return Response.json({
        type: 'message',
        id: 'm',
        role: 'assistant',
        model,
        content,
        stop_reason,
        usage,
      })
    }
    const message = { role: 'assistant', content: text }
    const reasoning = { reasoning_tokens: Math.min(output, THOUGHTS) }
    const usage = {
      prompt_tokens: 10,
      completion_tokens: output,
      total_tokens: output + 10,
      completion_tokens_details: reasoning,
    }
    const choices = [{ index: 0, message, finish_reason: isCut ? 'length' : 'stop' }]
    return Response.json({ id: 'c', object: 'chat.completion', created: 1, model, choices, usage })
  }
  return { answers, fetch }
}

type Provider = ReturnType<typeof provider>
type Options = Pick<CallOptions, 'usualOutput' | 'maxOutput' | 'minOutput' | 'formats' | 'onUsage'>

const FORMATS = {
  'OpenAI chat': ['https://api.openai.com/v1/chat/completions', { model: 'gpt-5', messages }],
  'OpenAI responses': ['https://api.openai.com/v1/responses', { model: 'gpt-5', input: QUESTION }],
  Claude: ['https://api.anthropic.com/v1/messages', { model: 'claude-opus-5', messages }],
  Gemini: [
    'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
    { model: 'gemini-2.5-pro', messages },
  ],
} as const
type Format = keyof typeof FORMATS

/** Calls a model of a format once; resolves to false if it is denied. */
type Call = (limiter: Limiter, provider: Provider, options?: Options) => Promise<boolean>

const subject = { tenant: 'acme' }
const allowed = async (call: PromiseLike<unknown>): Promise<boolean> =>
  call.then(
    () => true,
    (error: { readonly status?: number; readonly statusCode?: number }) => {
      if (error.status === 429 || error.statusCode === 429) return false
      throw error
    },
  )

const handled =
  (format: Format): Call =>
  async (limiter, { fetch }, options) => {
    const [url, body] = FORMATS[format]
    const api =
      format === 'OpenAI responses'
        ? 'openai-responses'
        : format === 'Claude'
          ? 'anthropic-messages'
          : 'openai-chat'
    const handle = modelHandler(
      limiter,
      { subject: async () => subject, api, prices: PRICES, ...options },
      ({ body: text }) => fetch(url, { method: 'POST', body: text }),
    )
    const answer = await handle(new Request(url, { method: 'POST', body: JSON.stringify(body) }))
    await answer.text()
    return answer.ok
  }

const fetched =
  (format: Format): Call =>
  async (limiter, { fetch }, options) => {
    const [url, body] = FORMATS[format]
    const limited = limitedFetch(limiter, { subject, prices: PRICES, fetch, ...options })
    const answer = await limited(url, { method: 'POST', body: JSON.stringify(body) })
    await answer.text()
    return answer.ok
  }

const modelled =
  (format: Exclude<Format, 'Gemini'>): Call =>
  async (limiter, { fetch }, options) => {
    const openai = createOpenAI({ apiKey: 'none', fetch })
    const inner =
      format === 'Claude'
        ? createAnthropic({ apiKey: 'none', fetch })('claude-opus-5')
        : format === 'OpenAI chat'
          ? openai.chat('gpt-5')
          : openai.responses('gpt-5')
    const model = limitedModel(inner, limiter, { subject, prices: PRICES, ...options })
    return allowed(generateText({ model, prompt: QUESTION, maxRetries: 0 }))
  }

const CELLS: readonly (readonly [door: string, format: Format, call: Call])[] = [
  ...(Object.keys(FORMATS) as Format[]).flatMap((format) => [
    ['modelHandler', format, handled(format)] as const,
    ['limitedFetch', format, fetched(format)] as const,
  ]),
  ...(['OpenAI chat', 'OpenAI responses', 'Claude'] as const).map(
    (format) => ['limitedModel', format, modelled(format)] as const,
  ),
]

function limiterOf(daily: number): Limiter {
  const policies = modelPolicies({ per: ['tenant'], daily })
  return createLimiter({ store: memory(), clock: manualClock(NOON), policies })
}

async function leftOf(limiter: Limiter): Promise<number> {
  const { policies } = await limiter.peek(subject, { cost: { usd: 0 } })
  return policies[0]?.remaining ?? Number.NaN
}

describe.each(CELLS)('%s, %s', (_door, _format, call) => {
  it.each([2, 10, 100])('has no empty answer on a budget of %d calls', async (calls) => {
    const daily = calls * RATE * (THOUGHTS + ANSWER)
    const limiter = limiterOf(daily)
    const { answers, fetch } = provider()
    const emptyWithRoom: number[] = []
    for (;;) {
      const before = await leftOf(limiter)
      if (!(await call(limiter, { answers, fetch }))) break
      await vi.waitFor(
        async () =>
          expect(await leftOf(limiter)).toBeLessThanOrEqual(
            before - (answers.at(-1)?.output ?? 0) * RATE,
          ),
        PATIENTLY,
      )
      await vi.waitFor(
        async () =>
          expect(before - (await leftOf(limiter))).toBeLessThan(
            (answers.at(-1)?.output ?? 0) * RATE + 1_000,
          ),
        PATIENTLY,
      )
      if (answers.at(-1)?.text === '' && before >= USUAL * RATE + 1_000) emptyWithRoom.push(before)
    }
    expect(emptyWithRoom).toEqual([])
    expect(await leftOf(limiter)).toBeLessThanOrEqual(calls >= 10 ? daily / 10 : daily)
    // The maximum of the model is never exceeded, and the usual one is met wherever there is room.
    expect(Math.max(...answers.map(({ maximum }) => maximum))).toBeLessThanOrEqual(64_000)
  })
})

describe.each(CELLS)(
  'a usual output that is chosen for each call: %s, %s',
  (_door, _format, call) => {
    const maximumWith = async (usualOutput: NonNullable<CallOptions['usualOutput']>) => {
      const { answers, fetch } = provider()
      // A quarter of it is less than a thousand tokens.
      await call(limiterOf(3_500 * RATE), { answers, fetch }, { usualOutput, minOutput: 100 })
      return answers[0]?.maximum
    }

    it('is that of its body, or the default', async () => {
      const bodies: object[] = []
      const chosen = await maximumWith((body) => {
        bodies.push(body)
        return JSON.stringify(body).includes(QUESTION) ? 1_000 : undefined
      })
      expect(chosen).toBe(1_000)
      expect(bodies).toHaveLength(1)
      expect(await maximumWith(() => undefined)).toBeGreaterThan(3_000)
    })

    it.each([0, -1, 0.5, Number.NaN, '1000'])('is not sent if it is %s', async (usual) => {
      const sent = maximumWith(() => usual as number)
      await expect(sent).rejects.toThrow('usualOutput: must be a whole number from 1')
    })
  },
)

const usualOutput = ({ user }: { readonly user?: unknown }) =>
  user === 'batch' ? 1_000 : undefined

it('a usual output that is chosen for each call holds for the client of a budget, and for a call that is prepared', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const { answers, fetch } = provider()
  const options = { store: memory(), tenant: 35_000, prices: PRICES, minOutput: 100, usualOutput }
  const openai = withBudget(new OpenAI({ apiKey: 'none', fetch }), options)('acme')
  await openai.chat.completions.create({ model: 'gpt-5', messages, user: 'batch' })
  expect(answers.map(({ maximum }) => maximum)).toEqual([1_000])

  const prepare = prepareModelCalls({ api: 'openai-chat', prices: PRICES, usualOutput })
  const [url, body] = FORMATS['OpenAI chat']
  for (const [user, usual] of [
    ['batch', 1_000],
    ['acme', USUAL],
  ]) {
    const init = { method: 'POST', body: JSON.stringify({ ...body, user }) }
    expect((await prepare(new Request(url, init))).cost.output_token).toBe(usual)
  }
})

it('an answer that its maximum has ended says so, with the reasoning in it', async () => {
  for (const format of ['OpenAI chat', 'OpenAI responses'] as const) {
    const onUsage = vi.fn<(usage: unknown) => void>()
    const limiter = limiterOf(1_000_000)
    const options = { formats: [reasoningTokens], onUsage }
    await handled(format)(limiter, provider(), { ...options, usualOutput: 5_000, maxOutput: 5_000 })
    await vi.waitFor(() => expect(onUsage).toHaveBeenCalledTimes(1), PATIENTLY)
    expect(onUsage.mock.lastCall?.[0]).toMatchObject({
      isCut: true,
      output: 5_000,
      reasoning: 5_000,
    })
    await handled(format)(limiter, provider(), options)
    await vi.waitFor(() => expect(onUsage).toHaveBeenCalledTimes(2), PATIENTLY)
    expect(onUsage.mock.lastCall?.[0]).not.toHaveProperty('isCut')
  }
})

it('of 25 calls at once on $1, none is refused as used up', async () => {
  const outcomes = []
  for (const options of [{}, { maxOutput: 4_096 }]) {
    const limiter = limiterOf(1_000_000)
    const { fetch } = provider()
    const waiting: (() => void)[] = []
    const slow = {
      answers: [],
      fetch: async (...args: Parameters<typeof fetch>) =>
        new Promise<void>((resolve) => void waiting.push(resolve)).then(async () => fetch(...args)),
    }
    const reasons: string[] = []
    const [url, body] = FORMATS['OpenAI chat']
    const limited = limitedFetch(limiter, {
      subject,
      prices: PRICES,
      fetch: slow.fetch,
      onDenied: ({ reason }) => void reasons.push(reason),
      ...options,
    })
    const ask = async () => limited(url, { method: 'POST', body: JSON.stringify(body) })
    const first = Promise.all(Array.from({ length: 25 }, ask))
    await vi.waitFor(() => expect(reasons.length).toBeGreaterThan(0), PATIENTLY)
    for (const reply of waiting) reply()
    const denied = (await first).filter(({ status }) => status === 429)
    expect(new Set(reasons)).toEqual(new Set(['concurrency_exceeded']))
    expect(denied.map(({ headers }) => headers.get('retry-after'))).toEqual(denied.map(() => '1'))
    outcomes.push(denied.length)
  }
  // With a fixed maximum of 4,096 tokens 24 are let in, and each is paid for without a text.
  expect(outcomes).toEqual([19, 1])
})

it('25 short calls at once on $1 are all answered, because the client comes back to what is held', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const usage = { prompt_tokens: 10, completion_tokens: 300, total_tokens: 310 }
  const choices = [
    { index: 0, message: { role: 'assistant', content: 'Because.' }, finish_reason: 'stop' },
  ]
  const fetch = async () =>
    Response.json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4o',
      choices,
      usage,
    })
  const client = new OpenAI({ apiKey: 'none', fetch })
  const openai = withBudget(client, { store: memory(), tenant: 1_000_000 })('acme')
  const calls = Array.from({ length: 25 }, async () =>
    openai.chat.completions.create({ model: 'gpt-4o', messages }),
  )
  const answers = await Promise.allSettled(calls)
  expect(answers.filter(({ status }) => status === 'rejected')).toEqual([])
})

it('the clients of a budget have their answers with text', async () => {
  vi.spyOn(console, 'info').mockImplementation(() => {})
  const { answers, fetch } = provider()
  const options = { store: memory(), tenant: 1_000_000, prices: PRICES }
  const openai = withBudget(new OpenAI({ apiKey: 'none', fetch }), options)('acme')
  const anthropic = withBudget(new Anthropic({ apiKey: 'none', fetch }), options)('acme')
  await openai.chat.completions.create({ model: 'gpt-5', messages })
  await openai.responses.create({ model: 'gpt-5', input: QUESTION, reasoning: { effort: 'high' } })
  await anthropic.messages.create({
    model: 'claude-opus-5',
    messages,
    max_tokens: 64_000,
    thinking: { type: 'adaptive' } as never,
  })
  expect(answers.map(({ text }) => text)).toEqual(['Because.', 'Because.', 'Because.'])
})

it('the maximum is that of the listed model, and never above what it takes', async () => {
  const sent: Record<string, number> = {}
  const models = [
    'gpt-3.5-turbo',
    'gpt-4',
    'gpt-4o',
    'gpt-4.1',
    'o3',
    'gpt-5',
    'claude-opus-4-1',
    'claude-sonnet-4-5',
    'claude-opus-5',
  ]
  for (const model of models) {
    const { answers, fetch } = provider()
    const limited = limitedFetch(limiterOf(10 ** 12), { subject, prices: LIST_PRICES, fetch })
    const path = model.startsWith('claude') ? 'messages' : 'chat/completions'
    await limited(`https://api.example/v1/${path}`, {
      method: 'POST',
      body: JSON.stringify({ model, messages }),
    })
    sent[model] = answers[0]?.maximum ?? 0
  }
  expect(sent).toEqual({
    'gpt-3.5-turbo': 4_096,
    'gpt-4': 4_096,
    'gpt-4o': 16_384,
    'gpt-4.1': 32_000,
    o3: 64_000,
    'gpt-5': 64_000,
    'claude-opus-4-1': 32_000,
    'claude-sonnet-4-5': 64_000,
    'claude-opus-5': 64_000,
  })
})
