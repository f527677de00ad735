import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { estimateRequest, estimateTokens } from '@sluice/ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  clientsOf,
  settingsOf,
  startGateway,
  startKeys,
  startProvider,
  upstreamsAt,
  type Clients,
  type GatewayProvider,
} from './support/gateway.ts'
import type { App } from './support/target.ts'
import { MODELS as NAMED } from '../support/models.ts'

const chat = { model: NAMED.openai, messages: [{ role: 'user' as const, content: 'Why?' }] }
const response = { model: NAMED.openai, input: 'Why?' }
const message = { ...chat, model: 'claude-haiku-4-5', max_tokens: 200 }
const stream = true as const
const PATHS = ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/messages']

let keys: Awaited<ReturnType<typeof startKeys>>
let provider: GatewayProvider
let key: string

beforeAll(async () => {
  keys = await startKeys()
  provider = await startProvider()
  ;({ key } = await keys.create('enterprise'))
})
afterAll(async () => {
  await provider[Symbol.asyncDispose]()
  await keys.store[Symbol.asyncDispose]()
})

/** Posts a chat under any `Host`, which `fetch` does not let be chosen. */
async function postTo(
  { url }: App,
  path: string,
  host = new URL(url).host,
): Promise<{ status: number | undefined; text: string }> {
  const headers = { host, authorization: `Bearer ${key}` }
  const method = path === '/v1/models' ? 'GET' : 'POST'
  const sent = httpRequest(url + path, { method, headers })
  sent.end(method === 'POST' ? JSON.stringify(chat) : undefined)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of answer) text += String(part)
  return { status: answer.statusCode, text }
}

async function withGateway(
  variables: Record<string, string>,
  check: (app: App) => Promise<void>,
): Promise<void> {
  const app = await startGateway(variables)
  try {
    await check(app)
  } finally {
    await app.stop()
  }
}

async function expectRefusal(app: App, setting: string, host?: string): Promise<void> {
  for (const path of [...PATHS, '/v1/models']) {
    const { status, text } = await postTo(app, path, host)
    expect(status, `on ${path}`).toBe(503)
    expect(text).toContain('not_configured')
    expect(text).toContain(setting)
  }
}

describe('without a provider', () => {
  let gateway: App
  let clients: Clients
  beforeAll(async () => {
    gateway = await startGateway({}, keys.store)
    clients = clientsOf(gateway.url, key)
  })
  afterAll(() => gateway.stop())

  it.each([
    'gateway.example',
    '10.0.0.1',
    'localhost.gateway.example',
    '127.0.0.1.nip.io',
    '[::2]',
  ])('nobody answers at %s', async (host) => {
    expect.hasAssertions()
    await expectRefusal(gateway, '_API_KEY is not set', host)
  })

  it('a stand-in answers on this machine, to those who have a key', async () => {
    const { port } = new URL(gateway.url)
    for (const host of ['localhost', '127.0.0.1', '[::1]', `localhost:${port}`]) {
      expect((await postTo(gateway, '/v1/chat/completions', host)).status, `at ${host}`).toBe(200)
    }
    const nobody = clientsOf(gateway.url, `sk_${'n'.repeat(43)}`)
    await expect(nobody.openai.chat.completions.create(chat)).rejects.toMatchObject({ status: 401 })
  })

  it('the stand-in answers chats as JSON and as a stream, and tells its true usage', async () => {
    const { choices, usage } = await clients.openai.chat.completions.create(chat)
    const text = choices[0]?.message.content ?? ''
    expect(text).toContain('stand-in')
    expect(usage).toMatchObject(usageOf(chat, text))
    const run = clients.openai.chat.completions.stream({
      ...chat,
      stream_options: { include_usage: true },
    })
    const streamed = await run.finalChatCompletion()
    expect(streamed.choices[0]?.message.content).toBe(text)
    expect(streamed.usage).toEqual(usage)
  })

  it('the stand-in answers responses as JSON and as a stream', async () => {
    const { output_text: text, usage } = await clients.openai.responses.create(response)
    const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usageOf(
      response,
      text,
    )
    expect(usage).toMatchObject({ input_tokens, output_tokens })
    const streamed = await clients.openai.responses.stream(response).finalResponse()
    expect(streamed.output_text).toBe(text)
    expect(streamed.usage).toEqual(usage)
  })

  it('the stand-in answers messages as JSON and as a stream', async () => {
    const whole = await clients.anthropic.messages.create(message)
    const [content] = whole.content
    const text = content?.type === 'text' ? content.text : ''
    const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usageOf(message, text)
    expect(whole.usage).toMatchObject({ input_tokens, output_tokens })
    const streamed = await clients.anthropic.messages.stream(message).finalMessage()
    expect(streamed).toMatchObject({ content: [{ text }], stop_reason: 'end_turn' })
    expect(streamed.usage).toEqual(whole.usage)
  })

  it('the stand-in keeps to the maximum of an answer', async () => {
    const most = { max_completion_tokens: 9 }
    const { choices, usage } = await clients.openai.chat.completions.create({ ...chat, ...most })
    expect(choices[0]?.finish_reason).toBe('length')
    expect(usage?.completion_tokens).toBeLessThanOrEqual(9)
    const cut = await clients.anthropic.messages.create({ ...message, max_tokens: 9 })
    expect(cut.stop_reason).toBe('max_tokens')
    const part = await clients.openai.responses.create({ ...response, max_output_tokens: 16 })
    expect(part).toMatchObject({ status: 'incomplete' })
  })

  it('the stand-in embeds, in the form that a client asks for', async () => {
    const model = 'text-embedding-3-small'
    const input = ['one', 'two']
    const floats = await clients.openai.embeddings.create({
      model,
      input,
      encoding_format: 'float',
    })
    expect(floats.data.map(({ embedding }) => embedding.length)).toEqual([1_536, 1_536])
    expect(floats.usage.prompt_tokens).toBe(estimateRequest({ model, input }).input)
    // Without a format the client asks for base64, and reads it.
    const few = await clients.openai.embeddings.create({ model, input: 'one', dimensions: 4 })
    expect(few.data[0]?.embedding).toEqual([1, 0, 0, 0])
  })
})

function usageOf(body: object, text: string) {
  const prompt_tokens = estimateRequest(body).input
  const completion_tokens = estimateTokens(text)
  return { prompt_tokens, completion_tokens }
}

describe('a setting that is missing or wrong', () => {
  it('half the settings of a Redis lead nobody to a provider, wherever the gateway is', async () => {
    const before = provider.requests.length
    const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = settingsOf(keys.store)
    await withGateway(
      { ...upstreamsAt(provider), UPSTASH_REDIS_REST_TOKEN: token },
      async (app) => {
        await expectRefusal(app, 'UPSTASH_REDIS_REST_URL')
        await expectRefusal(app, 'UPSTASH_REDIS_REST_URL', 'gateway.example')
      },
    )
    await withGateway({ ...upstreamsAt(provider), UPSTASH_REDIS_REST_URL: url }, (app) =>
      expectRefusal(app, 'UPSTASH_REDIS_REST_TOKEN'),
    )
    expect(provider.requests.length).toBe(before)
  })

  it.each([
    ['MODELS', 'gpt-6.2-sol, gpt-none'],
    ['STORE_TIMEOUT_MS', 'soon'],
    ['STORE', 'elsewhere.upstash.io'],
    ['SLUICE_OBJECTS_TOKEN', 'short'],
    ['UPSTASH_REDIS_REST_URL', 'redis.example'],
    ['OPENAI_BASE_URL', 'api.openai.com/v1'],
    ['ANTHROPIC_BASE_URL', 'https://u:p@anthropic.example'],
  ])('%s is named if it is %j', async (name, value) => {
    expect.hasAssertions()
    const variables = { ...upstreamsAt(provider), ...settingsOf(keys.store), [name]: value }
    await withGateway(variables, (app) => expectRefusal(app, name))
  })

  it('with one provider, calls of the other are not answered by a stand-in', async () => {
    const { OPENAI_API_KEY: _, ...variables } = upstreamsAt(provider)
    await withGateway({ ...variables, ...settingsOf(keys.store) }, async (app) => {
      const { openai, anthropic } = clientsOf(app.url, key)
      expect((await anthropic.messages.create(message)).type).toBe('message')
      const call = openai.chat.completions.create(chat)
      await expect(call).rejects.toMatchObject({ status: 503, code: 'not_configured' })
    })
  })
})

it('MODELS chooses the models that are offered', async () => {
  const MODELS = 'gpt-4o-2024-08-06, claude-haiku-4-5'
  await withGateway(
    { ...upstreamsAt(provider), ...settingsOf(keys.store), MODELS },
    async (app) => {
      const { openai, anthropic } = clientsOf(app.url, key)
      expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['gpt-4o-2024-08-06'])
      expect((await anthropic.models.list()).data.map(({ id }) => id)).toEqual(['claude-haiku-4-5'])
      await openai.chat.completions.create({ ...chat, model: 'gpt-4o-2024-08-06', stream })
      await expect(openai.chat.completions.create(chat)).rejects.toMatchObject({
        status: 400,
        code: 'unknown_model',
      })
    },
  )
})
