/* A stand-in for every provider, which bills by code of its own and remembers what it has billed. */
import { billOf, Invalid, type Bill, type Call, type Json, type Kind } from './billing.ts'
import { answerOf } from './wires.ts'

export interface Provider {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** The requests that came here. */
  readonly requests: { readonly method: string; readonly url: URL; readonly body: Json }[]
  readonly bills: Bill[]
}

export interface ProviderOptions {
  /** False for a provider that never tells what it bills, and bills the dearest that a call can be. @default true */
  readonly told?: boolean
  /** The events of a stream after which the connection breaks. @default it does not */
  readonly cutAfter?: number
  /** The requests that it refuses at first, as overloaded. @default 0 */
  readonly overloadedFor?: number
}

const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/\/chat\/completions$/i, 'chat'],
  [/\/completions$/i, 'completions'],
  [/\/responses$/i, 'responses'],
  [/\/embeddings$/i, 'embeddings'],
  [/\/messages$/i, 'messages'],
]

const VENDORS: readonly (readonly [RegExp, string])[] = [
  [/(^|\.)openai\.com$/, 'openai'],
  [/\.azure\.com$/, 'azure'],
  [/anthropic\.com$/, 'anthropic'],
  [/groq\.com$/, 'groq'],
  [/mistral\.ai$/, 'mistral'],
  [/openrouter\.ai$/, 'openrouter'],
  [/deepseek\.com$/, 'deepseek'],
  [/x\.ai$/, 'xai'],
  [/googleapis\.com$/, 'gemini'],
  [/cohere\.(ai|com)$/, 'cohere'],
  [/perplexity\.ai$/, 'perplexity'],
  [/moonshot\.ai$/, 'moonshot'],
  [/together\.(ai|xyz)$/, 'together'],
]

/** The paths that cost nothing, though they are posted to. */
const FREE =
  /^https:\/\/(api\.anthropic\.com\/v1\/messages\/count_tokens|api\.openai\.com\/v1\/moderations)$/

const find = <T>(table: readonly (readonly [RegExp, T])[], text: string): T | undefined =>
  table.find(([pattern]) => pattern.test(text))?.[1]

/** Creates a provider whose `fetch` answers at every address. */
export function createProvider({
  told = true,
  cutAfter,
  overloadedFor = 0,
}: ProviderOptions = {}): Provider {
  const requests: Provider['requests'] = []
  const bills: Bill[] = []
  return {
    requests,
    bills,
    async fetch(input, init) {
      const request = new Request(input, init)
      const { method } = request
      const url = new URL(request.url)
      const text = await request.text()
      const body = text.startsWith('{') ? (JSON.parse(text) as Json) : {}
      requests.push({ method, url, body })
      const kind = find(KINDS, url.pathname.replace(/\/$/, ''))
      if (kind === undefined || method !== 'POST') {
        // Anything else costs a dollar, so that nobody passes it on by mistake.
        const isFree = /^(GET|HEAD)$/.test(method) || FREE.test(url.origin + url.pathname)
        bills.push({ ...NOTHING, microDollars: isFree ? 0 : 1_000_000 })
        return Response.json({ object: 'list', data: [] })
      }
      const call: Call = { kind, vendor: find(VENDORS, url.hostname) ?? 'local', body }
      if (requests.length <= overloadedFor) return refusal(kind, 'Overloaded', 503)
      let bill: Bill
      try {
        bill = billOf(call, !told)
      } catch (error) {
        if (error instanceof Invalid) return refusal(kind, error.message)
        throw error
      }
      bills.push(bill)
      const answer = answerOf(call, bill, told)
      if (body['stream'] !== true) return Response.json(answer.json)
      const events = answer.events.map(([name, data]) => {
        const json = typeof data === 'string' ? data : JSON.stringify(data)
        return `${name === undefined ? '' : `event: ${name}\n`}data: ${json}\n\n`
      })
      return new Response(streamOf(events, request.signal, cutAfter), {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  }
}

const NOTHING: Bill = {
  model: '',
  input: 0,
  cached: 0,
  written: 0,
  writtenLong: 0,
  output: 0,
  reasoning: 0,
  answers: 0,
  tier: 'default',
  microDollars: 0,
}

function refusal(kind: Kind, message: string, status = 400): Response {
  const error = { type: 'invalid_request_error', message, param: null, code: null }
  return Response.json(kind === 'messages' ? { type: 'error', error } : { error }, {
    status,
    headers: { 'retry-after-ms': '1' },
  })
}

/** A stream of events, which breaks after some of them, and when it is aborted. */
function streamOf(
  events: readonly string[],
  signal: AbortSignal,
  cutAfter = Infinity,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let at = 0
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (signal.aborted) return controller.error(signal.reason)
        if (at >= cutAfter) return controller.error(new TypeError('terminated'))
        const event = events[at]
        at += 1
        if (event === undefined) return controller.close()
        controller.enqueue(encoder.encode(event))
      },
    },
    { highWaterMark: 0 },
  )
}
