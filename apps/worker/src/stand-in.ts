import { estimateRequest, tokenCounter } from '@sluice/ai'
import type { Api } from './providers/provider.ts'
import type { CallToForward } from './providers/send.ts'
import { chat } from './stand-in/chat.ts'
import type { Format, StandInAnswer } from './stand-in/format.ts'
import { messages } from './stand-in/messages.ts'
import { responses } from './stand-in/responses.ts'

/** The formats of texts; embeddings have none. */
const FORMATS: Readonly<Partial<Record<Api, Format>>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  'anthropic-messages': messages,
}

const TEXT =
  'This is the stand-in of the gateway, not a model: set the key of a provider to call a real one.'
const WORD_MS = 20

/** A body as the model handler sends it: valid, and with one maximum. */
interface Body {
  readonly model: string
  readonly stream?: boolean
  readonly dimensions?: number
  readonly encoding_format?: string
  readonly input?: unknown
  readonly max_completion_tokens?: number
  readonly max_output_tokens?: number
  readonly max_tokens?: number
}

/** Answers a fixed text instead of a model. Its usage is that of the request and of the text. */
export function standIn({ api, body: text, signal }: CallToForward): Response {
  const body = JSON.parse(text) as Body
  const format = FORMATS[api]
  if (format === undefined) return embeddings(body)
  const { input } = estimateRequest(body)
  const most = body.max_completion_tokens ?? body.max_output_tokens ?? body.max_tokens
  const answer = { ...cutToTokens(TEXT, most ?? Infinity), model: body.model, input }
  if (body.stream !== true) return Response.json(format.json(answer))
  return new Response(streamOf(format.events(answer), signal), {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' },
  })
}

function cutToTokens(
  text: string,
  most: number,
): Pick<StandInAnswer, 'words' | 'output' | 'isCut'> {
  const counter = tokenCounter()
  const words: string[] = []
  let output = 0
  for (const word of text.split(/(?<= )/)) {
    counter.add(word)
    if (counter.tokens > most) return { words, output, isCut: true }
    words.push(word)
    output = counter.tokens
  }
  return { words, output, isCut: false }
}

/** Sends events one after the other, as a model does. */
function streamOf(events: readonly string[], signal: AbortSignal): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const left = events.values()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = left.next()
      if (done || signal.aborted) return controller.close()
      await new Promise((resolve) => {
        setTimeout(resolve, WORD_MS)
      })
      controller.enqueue(encoder.encode(value))
    },
  })
}

function embeddings({ model, input, dimensions = 1_536, encoding_format }: Body): Response {
  const vector = Float32Array.from({ length: dimensions }, (_, index) => (index === 0 ? 1 : 0))
  const isList = Array.isArray(input) && typeof input[0] !== 'number'
  const texts: readonly unknown[] = isList ? input : [input]
  const embedding = encoding_format === 'base64' ? base64(vector) : Array.from(vector)
  const tokens = estimateRequest({ model, input }).input
  return Response.json({
    object: 'list',
    data: texts.map((_, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  })
}

const base64 = ({ buffer }: Float32Array): string =>
  btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCodePoint(byte)).join(''))
