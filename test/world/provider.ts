/* A provider of models: it streams, stalls, refuses and dies, and writes down what it bills. */
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'

export const MODEL = 'world-model'

/** Micro-dollars for a million tokens. */
export const PRICE = { input: 2_000_000, output: 8_000_000 }

/** The time for which a provider that stalls sends nothing: longer than any world lasts. */
const STALL_MS = 86_400_000_000

/** The end of a call, as the provider saw it. */
export interface Bill {
  readonly input: number
  output: number
  /** True if the answer with its usage was sent whole. */
  isWhole: boolean
  /** True if the provider refused the call, and bills nothing. */
  isRefused: boolean
}

interface Asked {
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
  readonly messages: readonly { readonly content: string }[]
}

/** Answers a call in OpenAI's format. */
export async function answer(
  body: string,
  signal: AbortSignal | undefined,
  { scheduler, random, isCalm }: { scheduler: Scheduler; random: Random; isCalm: boolean },
): Promise<{ response: Response; bill: Bill }> {
  const asked = JSON.parse(body) as Asked
  const most = asked.max_completion_tokens ?? asked.max_tokens ?? 1
  const words = asked.messages.map(({ content }) => content.split(' ').length)
  const bill: Bill = {
    input: words.reduce((sum, count) => sum + count, 3),
    output: random.whole(0, most),
    isWhole: false,
    isRefused: false,
  }
  await scheduler.wait(random.gap(30))
  const fate = isCalm
    ? 'answers'
    : random.weighted({ answers: 8, refuses: 1, fails: 1, dies: 1, stalls: 1 })
  if (fate === 'refuses') {
    bill.isRefused = true
    return { response: json({ error: { message: 'slow down' } }, 429), bill }
  }
  if (fate === 'fails') throw new Error('the provider broke the connection')
  const usage = {
    prompt_tokens: bill.input,
    completion_tokens: bill.output,
    total_tokens: bill.input + bill.output,
  }
  if (!asked.stream) {
    bill.isWhole = true
    const message = { role: 'assistant', content: 'ok '.repeat(bill.output).trim() }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return {
      response: json({ id: 'c', object: 'chat.completion', model: MODEL, choices, usage }),
      bill,
    }
  }
  const parts = Array.from({ length: Math.min(bill.output, 5) }, (_, index) =>
    chunk({ content: index === 0 ? 'ok '.repeat(Math.max(1, bill.output - 4)).trim() : ' ok' }),
  )
  const end = [chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })]
  if (asked.stream_options?.include_usage) end.push(chunk({}, { choices: [], usage }))
  end.push('data: [DONE]\n\n')
  const encoder = new TextEncoder()
  const texts = [...parts, ...end]
  const stopsAt = fate === 'answers' ? texts.length : random.whole(0, texts.length - 1)
  let next = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await scheduler.wait(random.gap(20))
        if (signal?.aborted) return controller.error(new Error('aborted'))
        if (next === stopsAt && fate === 'dies') return controller.error(new Error('died'))
        // Nothing comes any more, as from a socket that stays open.
        if (next === stopsAt && fate === 'stalls') return scheduler.wait(STALL_MS)
        const text = texts[next]
        next += 1
        if (text === undefined) {
          bill.isWhole = true
          return controller.close()
        }
        return controller.enqueue(encoder.encode(text))
      },
    },
    { highWaterMark: 0 },
  )
  const headers = { 'content-type': 'text/event-stream' }
  return { response: new Response(stream, { headers }), bill }
}

const chunk = (delta: object, more: object = {}): string => {
  const choices = [{ index: 0, delta }]
  const event = { id: 'c', object: 'chat.completion.chunk', model: MODEL, choices, ...more }
  return `data: ${JSON.stringify(event)}\n\n`
}

const json = (body: object, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json' } })
