import { boundInput, modelHandler } from '@sluice/ai'
import { cohere, gemini, ollama, type UsageFormat } from '@sluice/ai/formats'
import { describe, expect, it } from 'vitest'
import { billOf, type Bill, type Call, type Json } from './billing.ts'
import { chargedBy, PRICES, roomyLimiter } from './doors.ts'

/** A format that is a vendor's own, for calls that a function translates. */
interface Native {
  readonly format: UsageFormat
  readonly model: string
  readonly json: (bill: Bill, told: boolean) => Json
  /** The text of a stream. */
  readonly stream: (bill: Bill, told: boolean) => string
}

const events = (...list: Json[]): string =>
  list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')

const candidate = (text: string, more: Json = {}): Json => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...more }],
})
const geminiUsage = ({ input, cached, output, reasoning }: Bill): Json => ({
  usageMetadata: {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output - reasoning,
    thoughtsTokenCount: reasoning,
    totalTokenCount: input + output,
  },
})
const DONE = { finishReason: 'MAX_TOKENS' }

const cohereUsage = ({ input, output }: Bill): Json => ({
  usage: {
    billed_units: { input_tokens: input, output_tokens: output },
    tokens: { input_tokens: input + 70, output_tokens: output },
  },
})
const cohereText = (text: string): Json => ({ message: { content: { text } } })

const NATIVES: Readonly<Record<string, Native>> = {
  'Gemini, as events': {
    format: gemini,
    model: 'gemini-2.5-flash',
    json: (bill, told) => ({ ...candidate('Hello there', DONE), ...(told && geminiUsage(bill)) }),
    stream: (bill, told) =>
      events(
        { ...candidate('Hello'), ...(told && geminiUsage({ ...bill, output: 1, reasoning: 0 })) },
        { ...candidate(' there', DONE), ...(told && geminiUsage(bill)) },
      ),
  },
  'Gemini, as a list': {
    format: gemini,
    model: 'gemini-2.5-flash',
    json: (bill, told) => ({ ...candidate('Hello there', DONE), ...(told && geminiUsage(bill)) }),
    stream: (bill, told) =>
      JSON.stringify([
        candidate('Hello'),
        { ...candidate(' there', DONE), ...(told && geminiUsage(bill)) },
      ]),
  },
  'Cohere, version 2': {
    format: cohere,
    model: 'command-a-03-2025',
    json: (bill, told) => ({
      id: 'a',
      finish_reason: 'MAX_TOKENS',
      message: { role: 'assistant', content: [{ type: 'text', text: 'Hello there' }] },
      ...(told && cohereUsage(bill)),
    }),
    stream: (bill, told) =>
      events(
        { type: 'message-start', id: 'a', delta: { message: { role: 'assistant', content: [] } } },
        {
          type: 'content-start',
          index: 0,
          delta: { message: { content: { type: 'text', text: '' } } },
        },
        { type: 'content-delta', index: 0, delta: cohereText('Hello') },
        { type: 'content-delta', index: 0, delta: cohereText(' there') },
        { type: 'content-end', index: 0 },
        {
          type: 'message-end',
          delta: { finish_reason: 'MAX_TOKENS', ...(told && cohereUsage(bill)) },
        },
      ),
  },
  Ollama: {
    format: ollama,
    model: 'llama-3.3-70b-versatile',
    json: (bill, told) => ollamaEvent('Hello there', bill, told),
    stream: (bill, told) =>
      [ollamaEvent('Hello', bill), ollamaEvent(' there', bill, told)]
        .map((event) => `${JSON.stringify(event)}\n`)
        .join(''),
  },
}

/** @param told Left out, it is no last event. */
function ollamaEvent(content: string, { model, input, output }: Bill, told?: boolean): Json {
  const message = { role: 'assistant', content }
  const usage = told === true ? { prompt_eval_count: input, eval_count: output } : {}
  const created_at = '2026-11-01T12:00:00Z'
  return { model, created_at, message, done: told !== undefined, ...usage }
}

const WORDS = 'Why is the sky blue, and the grass not? なぜ空は青いのですか。'
const BODIES: Readonly<Record<string, Json>> = {
  'nothing else': {},
  'max_tokens: 30': { max_tokens: 30 },
  'max_completion_tokens: 1000000': { max_completion_tokens: 1_000_000 },
  'n: 3': { n: 3 },
  'many words': { messages: [{ role: 'user', content: WORDS.repeat(200) }] },
}

const CELLS = Object.entries(NATIVES).flatMap(([name, native]) =>
  [true, false].flatMap((told) => [true, false].map((stream) => ({ name, native, told, stream }))),
)

describe.each(CELLS)('$name, streamed: $stream, usage told: $told', ({ native, told, stream }) => {
  it.each(Object.entries(BODIES))(
    'a function that translates is charged what is billed: %s',
    async (_, fields) => {
      const limiter = roomyLimiter()
      const background: Promise<unknown>[] = []
      let billed = 0
      const options = {
        subject: () => ({ tenant: 'acme' }),
        api: 'openai-chat' as const,
        prices: PRICES,
        formats: [native.format],
        waitUntil: (promise: Promise<unknown>) => void background.push(promise),
        ...(!told && { input: boundInput }),
      }
      const handle = modelHandler(limiter, options, ({ body }) => {
        const call: Call = { kind: 'chat', vendor: 'local', body: JSON.parse(body) as Json }
        const whole = billOf(call, !told)
        billed = whole.microDollars
        if (!stream) return Response.json(native.json(whole, told))
        return new Response(native.stream(whole, told))
      })
      const messages = [{ role: 'user', content: WORDS }]
      const body = JSON.stringify({ model: native.model, messages, stream, ...fields })
      const answer = await handle(new Request('https://app.example/ai', { method: 'POST', body }))
      expect(answer.status).toBe(200)
      await answer.text()
      while (background.length > 0) await background.shift()
      const { usd } = await chargedBy(limiter)
      expect(usd).toBeGreaterThanOrEqual(billed)
      expect(told ? usd : billed).toBe(billed)
    },
  )
})
