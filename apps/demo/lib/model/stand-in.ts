import { estimateRequest, tokenCounter } from '@sluice/ai'
import { setTimeout as delay } from 'node:timers/promises'
import type { ChatRequest } from './chat-request'

/** How many words it says in `DEMO_MODEL_LATENCY_MS`. */
const WORDS = 25
/** The estimate is made to err above; a model's own count is about this much lower. */
const ESTIMATE_ABOVE = 1.25

/** A model that takes its time and answers with fixed text, as OpenAI's API would. */
export async function standIn(
  body: ChatRequest,
  text: string,
  signal: AbortSignal,
): Promise<Response> {
  const said = cut(text, body.max_completion_tokens ?? body.max_tokens ?? Infinity)
  const id = `chatcmpl-${crypto.randomUUID()}`
  const head = { id, created: Math.floor(Date.now() / 1000), model: body.model }
  const prompt = Math.ceil(estimateRequest(body).input / ESTIMATE_ABOVE)
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: said.tokens,
    total_tokens: prompt + said.tokens,
  }
  const perWordMs = Number(process.env['DEMO_MODEL_LATENCY_MS'] ?? 600) / WORDS
  if (body.stream) {
    const told = body.stream_options?.include_usage ? usage : undefined
    // A model has read the prompt before it begins to answer.
    await delay(2 * perWordMs, undefined, { signal })
    return new Response(asStream(streamEvents(head, said, told, perWordMs, signal)), {
      headers: { 'content-type': 'text/event-stream; charset=utf-8' },
    })
  }
  await delay((2 + said.words.length) * perWordMs, undefined, { signal })
  const message = { role: 'assistant', content: said.words.join(''), refusal: null }
  const choices = [{ index: 0, message, logprobs: null, finish_reason: said.finish }]
  return Response.json({ ...head, object: 'chat.completion', choices, usage })
}

interface Said {
  readonly words: readonly string[]
  readonly tokens: number
  readonly finish: 'stop' | 'length'
}

/** As much of a text as `most` tokens are. */
function cut(text: string, most: number): Said {
  const counter = tokenCounter()
  const words: string[] = []
  let tokens = 0
  for (const word of text.split(/(?<= )/)) {
    counter.add(word)
    if (counter.tokens > most) return { words, tokens, finish: 'length' }
    words.push(word)
    tokens = counter.tokens
  }
  return { words, tokens, finish: 'stop' }
}

async function* streamEvents(
  head: object,
  { words, finish }: Said,
  usage: object | undefined,
  perWordMs: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  // Where the usage is asked for, every chunk has the field, and the last one alone a value.
  const chunk = (choices: readonly object[], told: object | null = null): string => {
    const data = { ...head, object: 'chat.completion.chunk', choices }
    return `data: ${JSON.stringify(usage ? { ...data, usage: told } : data)}\n\n`
  }
  yield chunk(choice({ role: 'assistant', content: '', refusal: null }))
  for (const content of words) {
    await delay(perWordMs, undefined, { signal })
    yield chunk(choice({ content }))
  }
  yield chunk(choice({}, finish))
  if (usage) yield chunk([], usage)
  yield 'data: [DONE]\n\n'
}

const choice = (delta: object, finish_reason: string | null = null): object[] => [
  { index: 0, delta, logprobs: null, finish_reason },
]

function asStream(events: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await events.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await events.return(undefined)
    },
  })
}
