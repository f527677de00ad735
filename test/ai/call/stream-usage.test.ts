import { limitedFetch, modelHandler, type Upstream } from '@sluice/ai'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { limiterOf, post, PRICES, QUESTION, subject, used } from '../doors.ts'
import { CHAT_SSE, CHAT_USAGE } from '../recordings.ts'

afterEach(() => void vi.unstubAllGlobals())

/** A member in Python's style, and texts of a model that look like what is taken out. */
const TRAPS: readonly string[] = [
  '{"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}}], "usage": null}',
  JSON.stringify({ id: 'c', choices: [{ delta: { content: '{"choices":[],"usage":{"a":1}}' } }] }),
  JSON.stringify({ id: 'c', choices: [{ delta: { content: 'x,"usage":null}' } }], usage: null }),
  // Azure begins with what its filter says.
  JSON.stringify({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }),
]
const USAGE_CHUNK = JSON.stringify({ id: 'c', choices: [], usage: CHAT_USAGE })

const stream = (chunks: readonly string[], end: string): string =>
  [...chunks, '[DONE]'].map((data) => `data: ${data}${end}${end}`).join('')

/** The stream of a provider to a client that asks for the usage, and to one that does not. */
const streamsOf = (end: string) => {
  const plain = TRAPS.map((data) => data.replace(/, ?"usage": ?null}$/, '}'))
  return { asked: stream([...TRAPS, USAGE_CHUNK], end), plain: stream(plain, end) }
}

const LINE_ENDS = { LF: '\n', CRLF: '\r\n', CR: '\r' }
const SIZES = [1, 7, 100_000]
const PATHS = ['chat/completions', 'completions'] as const

/** An answer whose bytes come in pieces of a size. */
function inPieces(text: string, size: number): Response {
  const bytes = new TextEncoder().encode(text)
  const pieces = new ReadableStream<Uint8Array>({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size) {
        controller.enqueue(bytes.slice(at, at + size))
      }
      controller.close()
    },
  })
  return new Response(pieces, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
}

/** Each door in front of a provider's `fetch`: sends a body, and returns the answer. */
const DOORS = {
  modelHandler: (provider: typeof fetch, url: string, options: object = {}) => {
    vi.stubGlobal('fetch', provider)
    const limiter = limiterOf()
    const send: Upstream = { url, key: 'none' }
    const handle = modelHandler(limiter, { subject, prices: PRICES, ...options }, send)
    return { limiter, call: (body: object) => handle(post(body)) }
  },
  limitedFetch: (provider: typeof fetch, url: string, options: object = {}) => {
    const limiter = limiterOf()
    const own = { subject: subject(), prices: PRICES, fetch: provider, ...options }
    const send = limitedFetch(limiter, own)
    const call = (body: object) => send(url, { method: 'POST', body: JSON.stringify(body) })
    return { limiter, call }
  },
}

const bodyFor = (path: string): object => ({
  model: 'gpt-4o',
  stream: true,
  ...(path === 'completions' ? { prompt: 'Why?' } : { messages: QUESTION.messages }),
})

const cells = Object.keys(DOORS).flatMap((door) =>
  PATHS.flatMap((path) =>
    Object.keys(LINE_ENDS).flatMap((end) => SIZES.map((size) => ({ door, path, end, size }))),
  ),
)

describe('the usage of a stream, through a door', () => {
  it.each(cells)(
    'is left out of $path for a client that did not ask: $door, $end, pieces of $size bytes',
    async ({ door, path, end, size }) => {
      const { asked, plain } = streamsOf(LINE_ENDS[end as keyof typeof LINE_ENDS])
      const sent: Record<string, unknown>[] = []
      const provider = async (_: unknown, init?: RequestInit) => {
        sent.push(JSON.parse(init?.body as string) as Record<string, unknown>)
        return inPieces(asked, size)
      }
      const open = DOORS[door as keyof typeof DOORS]
      const { limiter, call } = open(provider, `https://api.openai.com/v1/${path}`)

      expect(await (await call(bodyFor(path))).text()).toBe(plain)
      expect(sent[0]?.['stream_options']).toEqual({ include_usage: true })
      const tokens = CHAT_USAGE.prompt_tokens + CHAT_USAGE.completion_tokens
      await expect.poll(() => used(limiter, 'tpm')).toBe(tokens)

      const asking = { ...bodyFor(path), stream_options: { include_usage: true } }
      expect(await (await call(asking)).text()).toBe(asked)
      const notAsking = { ...bodyFor(path), stream_options: { include_usage: false } }
      expect(await (await call(notAsking)).text()).toBe(plain)
    },
  )

  it('gives each chunk of the official client a choice', async () => {
    const openai = new OpenAI({
      apiKey: 'none',
      fetch: limitedFetch(limiterOf(), {
        subject: subject(),
        prices: PRICES,
        fetch: async () => inPieces(CHAT_SSE, 7),
      }),
    })
    const chunks = await openai.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Why?' }],
      stream: true,
    })
    const said: string[] = []
    for await (const chunk of chunks) {
      expect(chunk).not.toHaveProperty('usage')
      said.push((chunk.choices[0] as (typeof chunk.choices)[0]).delta.content ?? '')
    }
    expect(said.join('')).toContain('Rayleigh')
  })

  const MISTRAL = 'https://api.mistral.ai/v1/chat/completions'
  const OTHER = 'https://llm.example/v1/chat/completions'
  it.each([
    { url: MISTRAL, includeUsage: undefined, asks: false },
    { url: MISTRAL, includeUsage: true, asks: true },
    { url: OTHER, includeUsage: undefined, asks: true },
    { url: OTHER, includeUsage: false, asks: false },
  ])('is asked of $url with includeUsage $includeUsage: $asks', async ({ url, asks, ...rest }) => {
    for (const open of Object.values(DOORS)) {
      let sent: Record<string, unknown> = {}
      const provider = async (_: unknown, init?: RequestInit) => {
        sent = JSON.parse(init?.body as string) as Record<string, unknown>
        return inPieces(CHAT_SSE, 1_000)
      }
      const { limiter, call } = open(provider, url, rest)
      const text = await (await call(bodyFor('chat/completions'))).text()
      expect(sent['stream_options']).toEqual(asks ? { include_usage: true } : undefined)
      // A provider that tells the usage unasked is passed on as it is.
      expect(text === CHAT_SSE).toBe(!asks)
      const tokens = CHAT_USAGE.prompt_tokens + CHAT_USAGE.completion_tokens
      await expect.poll(() => used(limiter, 'tpm')).toBe(tokens)
    }
  })
})
