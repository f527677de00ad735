import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { limitedFetch, meter } from '@sluice/ai'
import { gemini, reasoningTokens, type UsageFormat } from '@sluice/ai/formats'
import { modelTelemetry, timedFetch } from '@sluice/otel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { handlerOf, limiterWith, post, PRICES, QUESTION } from '../ai/doors.ts'
import { CHAT_JSON, CHAT_SSE, RESPONSES_JSON, responsesSse } from '../ai/recordings.ts'
import { startSdk, type Sdk } from './support.ts'

const tokensOf = async (sdk: Sdk, name: string): Promise<unknown[]> =>
  (await sdk.points(`gen_ai.client.inference.usage.${name}`)).map(({ value }) => value)

it('a call by modelHandler is reported with the tokens that its provider told', async () => {
  const sdk = startSdk()
  const onUsage = modelTelemetry({ provider: 'openai', meterProvider: sdk.meterProvider })
  const { handle } = handlerOf(() => Response.json(CHAT_JSON), { onUsage })
  await (await handle(post(QUESTION))).text()
  const { usage } = CHAT_JSON as {
    usage: { prompt_tokens: number; completion_tokens: number }
  }
  const tokens = async () => [
    ...(await tokensOf(sdk, 'input_tokens')),
    ...(await tokensOf(sdk, 'output_tokens')),
  ]
  await expect.poll(tokens).toEqual([usage.prompt_tokens, usage.completion_tokens])
  await sdk.stop()
})

describe('tokens of reasoning are reported', () => {
  const answers: Readonly<Record<string, readonly [body: unknown, format: UsageFormat]>> = {
    'chat completions': [CHAT_JSON, reasoningTokens],
    'chat completions, streamed': [CHAT_SSE, reasoningTokens],
    responses: [RESPONSES_JSON, reasoningTokens],
    'responses, streamed': [responsesSse(), reasoningTokens],
    Perplexity: [
      {
        ...CHAT_JSON,
        usage: {
          prompt_tokens: 5,
          completion_tokens: 300,
          total_tokens: 305,
          reasoning_tokens: 250,
        },
      },
      reasoningTokens,
    ],
    Gemini: [
      {
        candidates: [{ content: { parts: [{ text: 'Yes.' }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 50, thoughtsTokenCount: 250 },
      },
      gemini,
    ],
  }

  it.each(Object.entries(answers))('of %s', async (_, [body, format]) => {
    const sdk = startSdk()
    const report = modelTelemetry({ provider: 'openai', meterProvider: sdk.meterProvider })
    const settled: unknown[] = []
    const response = new Response(typeof body === 'string' ? body : JSON.stringify(body))
    const metered = meter(response, {
      formats: [format],
      settle(usage) {
        settled.push(usage.reasoning)
        report(usage, { tenant: 'acme' })
      },
    })
    await metered.text()
    expect(settled).toEqual([250])
    expect(await tokensOf(sdk, 'reasoning.output_tokens')).toEqual([250])
    await sdk.stop()
  })
})

type Timed = ReturnType<typeof timedFetch>

/** The attributes of what was reported, by metric. */
async function reported(call: (timed: Timed) => Promise<unknown>) {
  const sdk = startSdk()
  const timed = timedFetch({ provider: 'openai', meterProvider: sdk.meterProvider })
  await call(timed).catch(() => undefined)
  const points = async (name: string) =>
    (await sdk.points(`gen_ai.client.inference.${name}`)).map(({ attributes, value }) => {
      const { count, buckets } = value as { count: number; buckets: { boundaries: number[] } }
      const { boundaries } = buckets
      return { attributes, count, bounds: [boundaries.at(0), boundaries.at(-1)] }
    })
  const found = { duration: await points('duration'), first: await points('time_to_first_chunk') }
  await sdk.stop()
  return found
}

describe('timedFetch', () => {
  let server: Server
  let origin: string
  let closed: string
  const model = 'gpt-4o'
  const body = JSON.stringify(QUESTION)

  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume()
      const path = request.url ?? ''
      if (path.includes('limited')) {
        response.writeHead(429).end('{}')
      } else if (path.includes('cut')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(CHAT_SSE.slice(0, 500), () => response.destroy())
      } else if (path.includes('stream')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(CHAT_SSE)
      } else {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify(CHAT_JSON))
      }
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const gone = createServer().listen(0, '127.0.0.1')
    await once(gone, 'listening')
    closed = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`
    gone.close()
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const attributes = (more: object = {}): object => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': model,
    'server.address': '127.0.0.1',
    'server.port': expect.any(Number) as number,
    ...more,
  })
  const point = (more?: object): object => ({
    attributes: attributes(more),
    count: 1,
    bounds: [0.01, 81.92],
  })
  const send =
    (path: string, read = true) =>
    async (timed: Timed) => {
      const response = await timed(`${origin}/${path}`, { method: 'POST', body })
      await (read ? response.text() : response.body?.cancel())
    }

  it('reports the duration of a call', async () => {
    expect(await reported(send('json'))).toEqual({ duration: [point()], first: [] })
  })

  it('reports the time to the first chunk of a call that is streamed', async () => {
    expect(await reported(send('stream'))).toEqual({ duration: [point()], first: [point()] })
  })

  it.each([
    ['a status', send('limited'), '429', 0],
    ['an answer that breaks off', send('cut'), 'broken', 1],
    ['an answer that nobody reads to its end', send('stream', false), 'cancelled', 0],
    [
      'a provider that is down',
      (timed: Timed) => timed(closed, { method: 'POST', body }),
      'ECONNREFUSED',
      0,
    ],
  ] as const)('names the error of %s', async (_, call, error, streamed) => {
    const { duration, first } = await reported(call)
    expect(duration).toEqual([point({ 'error.type': error })])
    expect(first).toHaveLength(streamed)
  })

  it('counts the calls that limitedFetch lets through, with the bytes unchanged', async () => {
    let text = ''
    let status: number | undefined
    const found = await reported(async (timed) => {
      const limited = limitedFetch(limiterWith(16_000), {
        subject: { tenant: 'acme' },
        prices: PRICES,
        maxOutput: 1_500,
        includeUsage: false,
        fetch: timed,
        onUsage: () => undefined,
      })
      const call = { method: 'POST', body: JSON.stringify({ ...QUESTION, stream: true }) }
      text = await (await limited(`${origin}/stream/v1/chat/completions`, call)).text()
      status = (await limited(`${origin}/stream/v1/chat/completions`, call)).status
    })
    expect(text).toBe(CHAT_SSE)
    expect(status).toBe(429)
    expect(found).toEqual({ duration: [point()], first: [point()] })
  })

  it('sends a call to an address that only its own fetch knows', async () => {
    const sdk = startSdk()
    const timed = timedFetch({
      provider: 'openai',
      meterProvider: sdk.meterProvider,
      fetch: async () => Response.json({}),
    })
    expect(await (await timed('/v1/chat/completions', { body })).json()).toEqual({})
    const [found] = await sdk.points('gen_ai.client.inference.duration')
    expect(found?.attributes).toMatchObject({ 'gen_ai.request.model': model })
    expect(found?.attributes).not.toHaveProperty('server.address')
    await sdk.stop()
  })

  it('passes the very response on while no SDK is registered', async () => {
    const answer = Response.json({})
    const timed = timedFetch({ provider: 'openai', fetch: async () => answer })
    expect(await timed(origin, { body })).toBe(answer)
  })

  it.each([
    [{}, 'timedFetch.provider'],
    [{ provider: 'openai', fetch: 'fetch' }, 'timedFetch.fetch'],
    [{ provider: 'openai', fecth: fetch }, 'timedFetch.fecth'],
  ])('refuses %j', (options, option) => {
    expect(() => timedFetch(options as never)).toThrow(option)
  })
})

const embed = async () => Response.json({ data: [], usage: { prompt_tokens: 7 } })

describe('embeddings have the names of the conventions for embeddings', () => {
  it.each([
    ['by the path', {}, 'https://api.example.com/v1/embeddings', 'embeddings'],
    ['by the path, with a query', {}, 'https://api.example.com/v1/embeddings?a=b', 'embeddings'],
    ['by a request', {}, new Request('https://api.example.com/v1/embeddings'), 'embeddings'],
    ['by a URL', {}, new URL('https://api.example.com/v1/embeddings'), 'embeddings'],
    [
      'by the option',
      { operation: 'embeddings' },
      'https://api.example.com/v2/embed',
      'embeddings',
    ],
    ['unless they are other calls', {}, 'https://api.example.com/v1/responses', 'inference'],
    [
      'unless the option says so',
      { operation: 'chat' },
      'https://a.example/embeddings',
      'inference',
    ],
  ])('%s', async (_, options, address, kind) => {
    const sdk = startSdk()
    const { meterProvider } = sdk
    const send = timedFetch({ provider: 'openai', meterProvider, fetch: embed, ...options })
    await (await send(address)).text()
    const other = kind === 'embeddings' ? 'inference' : 'embeddings'
    const [point] = await sdk.points(`gen_ai.client.${kind}.duration`)
    expect(point?.attributes['gen_ai.operation.name']).toBe(
      kind === 'embeddings' ? 'embeddings' : 'chat',
    )
    expect(await sdk.points(`gen_ai.client.${other}.duration`)).toEqual([])
    await sdk.stop()
  })

  it.each(['provider', 'counted'] as const)('tokens that are %s', async (source) => {
    const sdk = startSdk()
    const { meterProvider } = sdk
    const report = modelTelemetry({ provider: 'openai', operation: 'embeddings', meterProvider })
    const usage = { model: 'e', input: 7, output: 0, cachedInput: 0, cacheWrite: 0, source }
    report(usage, { tenant: 'acme', model: 'e' })
    expect(await tokensOf(sdk, 'input_tokens')).toEqual([])
    const points = await sdk.points('gen_ai.client.embeddings.operation.input_tokens')
    expect(points.map(({ value }) => (value as { sum: number }).sum)).toEqual(
      source === 'provider' ? [7] : [],
    )
    await sdk.stop()
  })
})
