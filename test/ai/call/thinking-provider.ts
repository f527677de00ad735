/* A provider whose models think before they answer, and the doors that call it. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import {
  definePrices,
  limitedFetch,
  limitedModel,
  modelHandler,
  modelPolicies,
  type CallOptions,
} from '@sluice/ai'
import { createLimiter, manualClock, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { generateText } from 'ai'
import { NOON } from '../../support/times.ts'

export const RATE = 10
const rates = { input: 1_000_000, output: RATE * 1_000_000, maxOutput: 64_000 }
export const PRICES = definePrices(
  Object.fromEntries(['gpt-5', 'claude-opus-5', 'gemini-2.5-pro'].map((name) => [name, rates])),
)
export const QUESTION = 'Why is the sky blue?'
export const messages = [{ role: 'user' as const, content: QUESTION }]
export const USUAL = 16_384
/** The tokens that a stand-in thinks before it says anything, and those of its answer. */
export const [THOUGHTS, ANSWER] = [9_000, 300]

/** A provider whose models think before they answer, within one maximum. It keeps what each answer had. */
export function provider() {
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

export const FORMATS = {
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

export const subject = { tenant: 'acme' }
const allowed = async (call: PromiseLike<unknown>): Promise<boolean> =>
  call.then(
    () => true,
    (error: { readonly status?: number; readonly statusCode?: number }) => {
      if (error.status === 429 || error.statusCode === 429) return false
      throw error
    },
  )

export const handled =
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

export const CELLS: readonly (readonly [door: string, format: Format, call: Call])[] = [
  ...(Object.keys(FORMATS) as Format[]).flatMap((format) => [
    ['modelHandler', format, handled(format)] as const,
    ['limitedFetch', format, fetched(format)] as const,
  ]),
  ...(['OpenAI chat', 'OpenAI responses', 'Claude'] as const).map(
    (format) => ['limitedModel', format, modelled(format)] as const,
  ),
]

/** A limiter with so many micro-dollars a day for each tenant. */
export function limiterOf(daily: number): Limiter {
  const policies = modelPolicies({ per: ['tenant'], daily })
  return createLimiter({ store: memory(), clock: manualClock(NOON), policies })
}
