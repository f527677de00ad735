import { estimateRequest, tokenCounter } from '@sluice/ai'
import { setTimeout as delay } from 'node:timers/promises'
import type { ChatRequest } from './chat-request'

/** The number of words in `DEMO_MODEL_LATENCY_MS`. */
const WORDS_PER_LATENCY = 25
/** The estimate divided by the tokens that a model counts, roughly. */
const ESTIMATE_RATIO = 1.25

/** Answers with a fixed text, with the delays and in the format of OpenAI's API. */
export async function standIn(
  body: ChatRequest,
  text: string,
  signal: AbortSignal,
): Promise<Response> {
  const answer = cutToTokens(text, body.max_completion_tokens ?? body.max_tokens ?? Infinity)
  const id = `chatcmpl-${crypto.randomUUID()}`
  const head = { id, created: Math.floor(Date.now() / 1000), model: body.model }
  const prompt = Math.ceil(estimateRequest(body).input / ESTIMATE_RATIO)
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: answer.tokens,
    total_tokens: prompt + answer.tokens,
  }
  const wordMs = Number(process.env['DEMO_MODEL_LATENCY_MS'] ?? 600) / WORDS_PER_LATENCY
  if (body.stream) {
    const lastUsage = body.stream_options?.include_usage ? usage : undefined
    // A model reads the prompt before it begins to answer.
    await delay(2 * wordMs, undefined, { signal })
    return new Response(asStream(streamEvents(head, answer, lastUsage, wordMs, signal)), {
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    })
  }
  await delay((2 + answer.words.length) * wordMs, undefined, { signal })
  const message = { role: 'assistant', content: answer.words.join(''), refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: answer.finish }]
  return Response.json({ ...head, object: 'chat.completion', choices, usage })
}

interface Answer {
  readonly words: readonly string[]
  readonly tokens: number
  readonly finish: 'stop' | 'length'
}

/** Cuts a text to at most `maxTokens`. */
function cutToTokens(text: string, maxTokens: number): Answer {
  const counter = tokenCounter()
  const words: string[] = []
  let tokens = 0
  for (const word of text.split(/(?<= )/)) {
    counter.add(word)
    if (counter.tokens > maxTokens) return { words, tokens, finish: 'length' }
    words.push(word)
    tokens = counter.tokens
  }
  return { words, tokens, finish: 'stop' }
}

async function* streamEvents(
  head: object,
  { words, finish }: Answer,
  lastUsage: object | undefined,
  wordMs: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  // With usage, every chunk has the field, but only that of the last chunk has a value.
  const chunk = (choices: readonly object[], usage: object | null = null): string => {
    const data = { ...head, object: 'chat.completion.chunk', choices }
    return `data: ${JSON.stringify(lastUsage ? { ...data, usage } : data)}\n\n`
  }
  yield chunk(choice({ role: 'assistant', content: '', refusal: null }))
  for (const content of words) {
    await delay(wordMs, undefined, { signal })
    yield chunk(choice({ content }))
  }
  yield chunk(choice({}, finish))
  if (lastUsage) yield chunk([], lastUsage)
  yield 'data: [DONE]\n\n'
}

const choice = (delta: object, finish_reason: string | null = null): object[] => [
  { index: 0, delta, logprobs: null, finish_reason },
]

/** Encodes events as a stream. None is written ahead of its reader, who may leave. */
export function asStream(events: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await events.next()
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      async cancel() {
        await events.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
}
