import { setTimeout as delay } from 'node:timers/promises'

const MODEL = 'stand-in'

/** A model that takes its time and answers with fixed text, in the shape of an OpenAI completion. */
export async function standIn(
  text: string,
  stream: boolean,
  latencyMs: number,
  signal: AbortSignal,
): Promise<Response> {
  const id = `chatcmpl-${crypto.randomUUID()}`
  const created = Math.floor(Date.now() / 1000)
  if (stream) {
    const events = streamEvents({ id, created, model: MODEL }, text, latencyMs, signal)
    return new Response(asStream(events), {
      headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
    })
  }
  await delay(latencyMs, undefined, { signal })
  const message = { role: 'assistant', content: text }
  const words = text.split(' ').length
  return Response.json({
    id,
    object: 'chat.completion',
    created,
    model: MODEL,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: words, total_tokens: words },
  })
}

async function* streamEvents(
  head: object,
  text: string,
  latencyMs: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const words = text.split(/(?<= )/)
  const chunk = (delta: object, finish_reason: string | null): string => {
    const choices = [{ index: 0, delta, finish_reason }]
    return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`
  }
  for (const content of words) {
    await delay(latencyMs / words.length, undefined, { signal })
    yield chunk({ content }, null)
  }
  yield chunk({}, 'stop')
  yield 'data: [DONE]\n\n'
}

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
