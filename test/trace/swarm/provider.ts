import type { Amounts, Journey } from './journey.ts'
import { promptOf } from './prompts.ts'

/** Dollars of the model per million tokens, as the provider bills them. */
export const PRICE = { input: 2.5, cachedInput: 1.25, output: 10 } as const

/** Tokens that the provider adds to a prompt of one message. */
export const TEMPLATE_TOKENS = 7

/** Pieces in which an answer is streamed. */
const PIECES = 12

const bill = (input: number, cached: number, output: number): Amounts => ({
  token: input + output,
  usd: (input - cached) * PRICE.input + cached * PRICE.cachedInput + output * PRICE.output,
})

/**
 * Answers a call as OpenAI's chat completions do, and writes down what it bills: the whole answer, also if
 * its client is gone before the end.
 */
export function answer(journey: Journey, body: string, signal: AbortSignal): Response {
  const { call, promptTokens: input } = journey
  const { max_completion_tokens: most } = JSON.parse(body) as { max_completion_tokens: number }
  const output = Math.min(call.output, most)
  const cached = Math.floor(input * call.cached)
  journey.billed = bill(input, cached, output)
  if (call.fate === 'aborted early') {
    journey.client.abort()
    throw signal.reason
  }
  const visible = output - Math.floor(output * call.hidden)
  const { text } = promptOf('English', visible)
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  }
  const told = call.fate === 'silent' ? {} : { usage }
  return call.isStream ? streamed(text, told) : whole(text, told)
}

const head = { id: 'c', object: 'chat.completion', model: 'gpt-4o' }

function whole(content: string, told: object): Response {
  const message = { role: 'assistant', content }
  return Response.json({ ...head, choices: [{ index: 0, message }], ...told })
}

function streamed(text: string, told: object): Response {
  const length = Math.ceil(text.length / PIECES)
  const pieces = Array.from({ length: PIECES }, (_, at) =>
    text.slice(at * length, (at + 1) * length),
  )
  const events = [
    ...pieces.map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ...('usage' in told ? [{ choices: [], ...told }] : []),
  ].map((event) => `data: ${JSON.stringify({ ...head, ...event })}\n\n`)
  return new Response(streamOf([...events, 'data: [DONE]\n\n']), {
    headers: { 'content-type': 'text/event-stream' },
  })
}

/** A stream of events, each made when it is read. */
function streamOf(events: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const waiting = events.values()
  return new ReadableStream(
    {
      pull(controller) {
        const { done, value } = waiting.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
    },
    { highWaterMark: 0 },
  )
}
