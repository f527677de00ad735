import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { APIError } from 'openai'
import { chunk } from './support/chat.ts'
import {
  chat,
  clientsOf,
  failureOf,
  message,
  OPERATOR,
  post,
  startGatewayStack,
  type Clients,
  type GatewayProvider,
  type GatewayStack,
} from './support/gateway.ts'
import { MODELS as NAMED } from '../support/models.ts'

const stream = true as const

/** Calls of each client. */
const CALLS: Readonly<Record<string, (clients: Clients) => Promise<unknown>>> = {
  'openai, chat': ({ openai }) => openai.chat.completions.create(chat),
  'openai, chat, streamed': async ({ openai }) =>
    collect(await openai.chat.completions.create({ ...chat, stream })),
  'openai, chat, streamed by its helper': ({ openai }) =>
    openai.chat.completions.stream(chat).finalChatCompletion(),
  'openai, responses': ({ openai }) =>
    openai.responses.create({ model: NAMED.openai, input: 'Why?' }),
  'openai, responses, streamed': async ({ openai }) =>
    collect(await openai.responses.create({ model: NAMED.openai, input: 'Why?', stream })),
  'openai, embeddings': ({ openai }) =>
    openai.embeddings.create({
      model: 'text-embedding-3-small',
      input: 'Why?',
      encoding_format: 'float',
    }),
  'anthropic, messages': ({ anthropic }) => anthropic.messages.create(message),
  'anthropic, messages, streamed': async ({ anthropic }) =>
    collect(await anthropic.messages.create({ ...message, stream })),
  'anthropic, messages, streamed by its helper': ({ anthropic }) =>
    anthropic.messages.stream(message).finalMessage(),
}

let stack: GatewayStack
let { keys, provider } = {} as Pick<GatewayStack, 'keys' | 'provider'>
beforeAll(async () => {
  stack = await startGatewayStack()
  ;({ keys, provider } = stack)
})
afterAll(() => stack[Symbol.asyncDispose]())
beforeEach(() => provider.reset())

/** Reads a stream to its end. */
async function collect<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of source) items.push(item)
  return items
}

describe('the official clients, with a key and a baseURL', () => {
  let clients: Clients
  let plain: Clients
  beforeAll(async () => {
    clients = clientsOf(stack.url, (await keys.create('enterprise')).key)
    plain = clientsOf(provider.url, 'no-key-is-needed')
  })

  it.each(Object.entries(CALLS))('get the answer of the provider: %s', async (_, call) => {
    // A client's id of the request differs each time, and is no part of the answer.
    expect(await call(clients)).toEqual(await call(plain))
  })

  it('list the models that they may call', async () => {
    const openai = (await collect(clients.openai.models.list())).map(({ id }) => id)
    const anthropic = (await collect(clients.anthropic.models.list())).map(({ id }) => id)
    expect(openai).toContain(NAMED.openai)
    expect(openai).toContain('text-embedding-3-small')
    expect(anthropic).toContain('claude-haiku-4-5')
    expect(openai.filter((id) => anthropic.includes(id))).toEqual([])
    for (const model of openai.filter((id) => id.startsWith('gpt'))) {
      await clients.openai.chat.completions.create({ ...chat, model })
      expect(provider.requests.at(-1)?.body['model']).toBe(model)
    }
  })

  it.each(['gpt-5.6-sol-2026-07-09', 'gpt-5.4-mini-2026-03-17'])(
    'call and retrieve the dated snapshot %s',
    async (model) => {
      await clients.openai.chat.completions.create({ ...chat, model })
      expect(provider.requests.at(-1)?.body['model']).toBe(model)
      expect(await clients.openai.models.retrieve(model)).toMatchObject({ id: model })
    },
  )

  it('call and retrieve a dated snapshot of Anthropic', async () => {
    const model = 'claude-haiku-4-5-20251001'
    await clients.anthropic.messages.create({ ...message, model })
    expect(provider.requests.at(-1)?.body['model']).toBe(model)
    expect(await clients.anthropic.models.retrieve(model)).toMatchObject({ id: model })
  })

  it('are refused a model that is not offered, and a variant that is no snapshot', async () => {
    const before = provider.requests.length
    for (const model of [
      'gpt-6.2-sol-audio',
      'gpt-6.2-sol-2026',
      'anthropic/gpt-6.2-sol',
      '%',
      'a/b',
    ]) {
      await expect(
        clients.openai.chat.completions.create({ ...chat, model }),
      ).rejects.toMatchObject({
        status: 400,
        code: 'unknown_model',
        message: expect.stringMatching(
          /"\S+" has no price, or is not in .*models.*`sluice prices set`/,
        ),
      })
      await expect(clients.openai.models.retrieve(model)).rejects.toMatchObject({
        status: 404,
        message: expect.stringContaining(`"${model}" is not offered: GET /v1/models lists`),
      })
    }
    await expect(clients.anthropic.models.retrieve(NAMED.openai)).rejects.toMatchObject({
      status: 404,
    })
    expect(provider.requests.length).toBe(before)
  })

  it('have tokens counted by the provider, for a request and nothing else', async () => {
    provider.respond = () => Response.json({ input_tokens: 14 })
    const { anthropic } = clientsOf(stack.url, (await keys.create('growth')).key)
    const { model, messages } = message
    const counted = anthropic.messages.countTokens({ model, messages })
    const { data, response } = await counted.withResponse()
    expect(data).toEqual({ input_tokens: 14 })
    expect(provider.requests.at(-1)).toMatchObject({
      path: '/v1/messages/count_tokens',
      body: { model, messages },
      headers: { 'x-api-key': OPERATOR.anthropic },
    })
    const left = response.headers.get('ratelimit')
    for (const part of ['"rpm";r=59', '"tpm";r=200000', '"budget.daily";r=5000000']) {
      expect(left).toContain(part)
    }
  })

  it('wait with counting tokens once the requests of a minute are used up', async () => {
    const { anthropic } = clientsOf(stack.url, (await keys.create('starter')).key)
    provider.respond = () => Response.json({ input_tokens: 14 })
    const { model, messages } = message
    const count = () => anthropic.messages.countTokens({ model, messages }, { maxRetries: 0 })
    for (let time = 0; time < 20; time += 1) await count()
    await expect(count()).rejects.toMatchObject({
      status: 429,
      error: { error: { type: 'rate_limit_error' } },
    })
    const before = provider.requests.length
    const wrong = clientsOf(stack.url, 'sk_none').anthropic
    await expect(wrong.messages.countTokens({ model, messages })).rejects.toMatchObject({
      status: 401,
    })
    expect(provider.requests.length).toBe(before)
  })
})

it('passes a stream on while the provider is still speaking', async () => {
  const { openai } = clientsOf(stack.url, (await keys.create()).key)
  const words = ['one', 'two', 'three']
  let speak: (() => void) | undefined
  provider.respond = () => {
    const left = words.values()
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        speak = () => {
          const { done, value } = left.next()
          if (done) controller.close()
          else controller.enqueue(new TextEncoder().encode(chunk(value)))
        }
        speak()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const heard: string[] = []
  for await (const { choices } of await openai.chat.completions.create({ ...chat, stream })) {
    heard.push(choices[0]?.delta.content ?? '')
    // The provider says the next thing only after the client has heard the last one.
    speak?.()
  }
  expect(heard).toEqual(words)
})

describe('the provider', () => {
  it('gets the key of the operator, and nothing of the client but its call', async () => {
    const { key } = await keys.create()
    const headers = {
      cookie: 'session=1',
      'cf-connecting-ip': '192.0.2.1',
      'cf-ray': 'ray',
      'x-forwarded-for': '192.0.2.1',
      'openai-organization': 'org-client',
      'openai-project': 'proj-client',
      'x-stainless-lang': 'js',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'fast-mode-2026-02-01, prompt-caching-2024-07-31',
      'x-client-request-id': 'trace-1',
    }
    await post(stack.url + '/v1/chat/completions?user=me', chat, {
      ...headers,
      authorization: `Bearer ${key}`,
    })
    await post(stack.url + '/v1/messages?beta=true', message, { ...headers, 'x-api-key': key })
    const [openai, anthropic] = provider.requests.slice(-2).map(sentByGateway)
    expect(openai).toEqual({
      authorization: `Bearer ${OPERATOR.openai}`,
      'content-type': 'application/json',
      'x-client-request-id': 'trace-1',
    })
    expect(anthropic).toEqual({
      'x-api-key': OPERATOR.anthropic,
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'prompt-caching-2024-07-31',
    })
    expect(JSON.stringify(provider.requests)).not.toContain(key)
  })

  it('is not followed to another address, where its key would go along', async () => {
    const { key } = await keys.create()
    const before = provider.requests.length
    provider.respond = () =>
      new Response(null, { status: 307, headers: { location: `${provider.url}/elsewhere` } })
    const answer = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      redirect: 'manual',
      body: JSON.stringify(chat),
      headers: { authorization: `Bearer ${key}` },
    })
    expect([answer.status, answer.headers.get('location')]).toEqual([307, null])
    expect(provider.requests.length - before).toBe(1)
  })

  it('tells clients its errors, with its request id and its wait', async () => {
    const { openai, anthropic } = clientsOf(stack.url, (await keys.create()).key)
    provider.respond = ({ path }) =>
      Response.json(
        path.endsWith('/messages')
          ? { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
          : { error: { message: 'Overloaded', type: 'server_error', code: 'overloaded' } },
        {
          status: 529,
          headers: {
            'request-id': 'req_a',
            'x-request-id': 'req_o',
            'retry-after': '7',
            'openai-processing-ms': '12',
            'openai-organization': 'org-operator',
            'anthropic-organization-id': 'org-operator',
            'x-ratelimit-remaining-tokens': '1',
            'set-cookie': '__cf_bm=1',
          },
        },
      )
    for (const call of [
      () => openai.chat.completions.create(chat),
      () => openai.responses.create({ model: NAMED.openai, input: 'Why?' }),
    ]) {
      const error = await failureOf(call())
      expect(error).toMatchObject({ status: 529, code: 'overloaded' })
      expectPassed((error as { headers: Headers }).headers)
    }
    const error = await failureOf(anthropic.messages.create(message))
    expect(error).toMatchObject({
      status: 529,
      error: { error: { type: 'overloaded_error' } },
    })
    expectPassed((error as { headers: Headers }).headers)
  })

  it('is not quoted when it refuses the key of the operator', async () => {
    const { openai } = clientsOf(stack.url, (await keys.create()).key)
    provider.respond = () =>
      Response.json(
        { error: { message: `Incorrect API key: ${OPERATOR.openai}`, code: 'invalid_api_key' } },
        { status: 401, headers: { 'x-request-id': 'req_1' } },
      )
    const error = await failureOf(openai.chat.completions.create(chat))
    expect(error).toMatchObject({ status: 502, code: 'upstream_unauthorized' })
    expect(JSON.stringify(error)).not.toContain(OPERATOR.openai)
  })

  it('get a provider’s error without the operator’s organisation, project and key', async () => {
    const { openai } = clientsOf(stack.url, (await keys.create('enterprise')).key)
    const text = `No: org-Ab3dEfGh1jKl, proj_AbC123dEf456, ${OPERATOR.openai}.`
    const headers = { 'openai-organization': 'the-operator', 'x-request-id': 'req_1' }
    provider.respond = () =>
      Response.json({ error: { message: text, code: 'model_not_found' } }, { status: 403, headers })
    const error = (await failureOf(openai.chat.completions.create(chat))) as APIError
    expect(error).toMatchObject({ status: 403, code: 'model_not_found' })
    expect(error.message).toContain('No: [redacted], [redacted], ')
    expect(error.message).not.toContain(OPERATOR.openai)
    expect(error.headers?.get('openai-organization')).toBeNull()
  })
})

function sentByGateway({ headers }: GatewayProvider['requests'][number]): object {
  // Workers send these by themselves, whatever the gateway does.
  const own =
    /^(accept|accept-encoding|cf-worker|connection|content-length|host|transfer-encoding|user-agent)$/
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !own.test(name)))
}

function expectPassed(headers: Headers): void {
  expect(headers.get('retry-after')).toBe('7')
  expect(headers.get('openai-processing-ms')).toBe('12')
  expect(headers.get('x-upstream-request-id')).toBe('req_o')
  // It was not the plan that refused; and those of the operator's account are nobody's business.
  const limits = ['x-ratelimit-limit-tokens', 'x-ratelimit-remaining-tokens']
  const account = ['set-cookie', 'openai-organization', 'anthropic-organization-id']
  for (const name of [...limits, ...account]) {
    expect(headers.get(name), `the header ${name}`).toBeNull()
  }
}

it('answers other paths and methods without a call', async () => {
  const { key } = await keys.create()
  const headers = { authorization: `Bearer ${key}` }
  const before = provider.requests.length
  for (const path of ['/', '/v1', '/V1/chat/completions', '//v1/messages', '/v1/completions']) {
    expect((await post(stack.url + path, chat, headers)).status, `on ${path}`).toBe(404)
  }
  expect((await post(stack.url + '/v1/models', chat, headers)).headers.get('allow')).toBe('GET')
  const got = await fetch(`${stack.url}/v1/chat/completions`, { headers })
  expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST'])
  expect(provider.requests.length).toBe(before)
})
