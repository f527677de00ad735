import { priceOf } from '@sluice/ai'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { MODELS } from '../support/models.ts'
import { PROVIDERS } from './fixtures/gateway-providers.ts'
import {
  clientsOf,
  failureOf,
  post,
  startKeys,
  startProvider,
  type GatewayProvider,
} from './support/gateway.ts'
import { keyOf, settingsFor, startWithProviders } from './support/gateway-providers.ts'
import { ROWS, streamOf, USAGE } from './support/provider-rows.ts'
import type { WorkerApp } from './support/workerd.ts'

const QUESTION = { messages: [{ role: 'user' as const, content: 'Why?' }] }

/** The models that the tests call: what two providers have is named with its provider. */
const LISTED = [
  ...ROWS.map(({ model }) => model),
  MODELS.openaiSmall,
  MODELS.anthropic,
  MODELS.anthropicSmall,
  'text-embedding-3-small',
  'mistral-embed',
]

let keys: Awaited<ReturnType<typeof startKeys>>
let provider: GatewayProvider
let gateway: WorkerApp
beforeAll(async () => {
  keys = await startKeys()
  provider = await startProvider()
  const on = settingsFor(
    provider,
    PROVIDERS.map(({ id }) => id),
  )
  gateway = await startWithProviders({ ...on, MODELS: LISTED.join() }, keys.store)
})
afterAll(async () => {
  await gateway.stop()
  await provider[Symbol.asyncDispose]()
  await keys.store[Symbol.asyncDispose]()
})
beforeEach(() => provider.reset())

const call = async (model: string, more: object = {}, path = '/v1/chat/completions') => {
  const { key } = await keys.create('enterprise')
  return post(gateway.url + path, { model, ...QUESTION, ...more }, { 'x-api-key': key })
}

/** Returns the line of the log for the request of an answer. */
const lineOf = async (answer: Response): Promise<Record<string, unknown>> => {
  const id = answer.headers.get('x-request-id')
  return vi.waitFor(() => {
    const found = gateway.logs.find((line) => line.includes(`"${id}"`))
    if (found === undefined) throw new Error(`no line of ${id}`)
    return JSON.parse(found) as Record<string, unknown>
  }, 30_000)
}

describe.each(ROWS)('$id', (row) => {
  const { id, model, sent = model, path, search = '', header = 'authorization' } = row

  it('gets a call at its address, with its key in its header and its own name of the model', async () => {
    const answer = await call(model)
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
    const received = provider.requests.at(-1)
    expect(received).toMatchObject({ path: `/${id}${path}`, search, body: { model: sent } })
    // By our name of the model, not by a deployment's.
    const maximum = /gpt/.test(model) ? 'max_completion_tokens' : 'max_tokens'
    expect(received?.body[maximum]).toBeGreaterThan(1_000)
    const { authorization, 'x-api-key': own, 'api-key': azure } = received?.headers ?? {}
    const key = header === 'authorization' ? `Bearer ${keyOf(id)}` : keyOf(id)
    const all = { authorization, 'x-api-key': own, 'api-key': azure }
    expect(all).toEqual({
      authorization: undefined,
      'x-api-key': undefined,
      'api-key': undefined,
      [header]: key,
    })
  })

  it.each([{}, { service_tier: 'auto' }, { service_tier: 'default' }])(
    'never gets a call with %j at a dearer tier of its account',
    async (asked) => {
      expect((await call(model, asked)).status).toBe(200)
      const tier = id === 'openai' || asked.service_tier === 'default' ? 'default' : undefined
      expect(provider.requests.at(-1)?.body['service_tier']).toBe(tier)
    },
  )

  it('is charged by the usage that its stream tells, at its own price', async () => {
    provider.respond = streamOf(row)
    const answer = await call(model, { stream: true })
    expect(await answer.text()).toContain('Rayleigh.')
    const { prices } = PROVIDERS.find((one) => one.id === id) ?? {}
    const name = model.startsWith(`${id}/`) ? model.slice(id.length + 1) : model
    const usd = priceOf({ input: 1_200, output: 310 }, name, prices as never)
    expect(await lineOf(answer)).toMatchObject({
      provider: id,
      outcome: 'answered',
      charged: { token: USAGE.total_tokens },
    })
    const { charged } = (await lineOf(answer)) as { charged: { usd: number } }
    expect(charged.usd).toBe(Math.max(usd, id === 'openrouter' ? 100 : 0))
  })

  it('has its error passed on, without the key that it quotes', async () => {
    const error = { ...row.error, quoted: `Not for ${keyOf(id)}.` }
    const body = Array.isArray(row.error)
      ? [...(row.error as object[]), { quoted: error.quoted }]
      : error
    provider.respond = () => Response.json(body, { status: 429, headers: { 'retry-after': '7' } })
    const answer = await call(model)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '7'])
    const text = await answer.text()
    expect(text).not.toContain(keyOf(id))
    expect(JSON.parse(text)).toEqual(
      JSON.parse(JSON.stringify(body).replace(keyOf(id), '[redacted]')),
    )
  })

  it('makes upstream_unauthorized of a wrong key, and never shows it', async () => {
    const quoted = { error: { message: `Unknown key ${keyOf(id)}` } }
    const [status, body] = row.refused ?? [401, quoted]
    provider.respond = () => Response.json(body, { status })
    const answer = await call(model)
    const text = await answer.text()
    expect([answer.status, text]).toEqual([502, expect.stringContaining('upstream_unauthorized')])
    expect(text).not.toContain(keyOf(id))
    expect(gateway.logs.join('\n')).not.toContain(keyOf(id))
  })
})

describe('the kinds of calls', () => {
  it.each([
    [
      'deepseek-flash',
      '/v1/messages',
      '/deepseek/anthropic/v1/messages',
      'x-api-key',
      { max_tokens: 9 },
    ],
    [MODELS.anthropic, '/v1/messages', '/anthropic/v1/messages', 'x-api-key', { max_tokens: 9 }],
    [
      'grok-4.7',
      '/v1/responses',
      '/xai/responses',
      'authorization',
      { input: 'Why?', messages: null },
    ],
    [
      'openai/gpt-oss-20b',
      '/v1/responses',
      '/groq/responses',
      'authorization',
      { input: 'Why?', messages: null },
    ],
    [
      'mistral-embed',
      '/v1/embeddings',
      '/mistral/embeddings',
      'authorization',
      { input: 'Why?', messages: null },
    ],
  ] as const)('%s answers %s', async (model, at, path, header, more) => {
    const answer = await call(model, more, at)
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
    const received = provider.requests.at(-1)
    expect(received).toMatchObject({ path, body: { model } })
    expect(received?.headers[header]).toContain('secret+of')
  })

  it('tokens are estimated where the provider does not count them', async () => {
    const before = provider.requests.length
    const answer = await call('deepseek-flash', {}, '/v1/messages/count_tokens')
    expect(await answer.json()).toEqual({ input_tokens: expect.any(Number) })
    expect(provider.requests.length).toBe(before)
    expect((await call('gpt-none', {}, '/v1/messages/count_tokens')).status).toBe(400)
  })
})

/** Lists the models that a client of a plan finds. */
const listOf = async (plan: string, client: 'openai' | 'anthropic') => {
  const clients = clientsOf(gateway.url, (await keys.create(plan)).key)
  return (await clients[client].models.list()).data.map(({ id }) => id)
}
/** Calls an alias in both formats. */
const smart = async (plan: string) => {
  const { openai, anthropic } = clientsOf(gateway.url, (await keys.create(plan)).key)
  const chat = await failureOf(openai.chat.completions.create({ model: 'smart', ...QUESTION }))
  const message = { model: 'smart', max_tokens: 9, ...QUESTION }
  return [chat, await failureOf(anthropic.messages.create(message))].map(
    (error) => (error as { status?: number }).status,
  )
}

describe('a name of a model', () => {
  it.each([
    [MODELS.openai, 'two providers have it, and MODELS lists both'],
    [`groq/${MODELS.openai}`, 'its provider does not have it'],
    ['openai/openai/gpt-oss-20b', 'its provider does not have it'],
    ['llama-3.3-70b-versatile', 'MODELS leaves it out'],
    ['my-deployment', 'it is the name that is sent'],
    [MODELS.anthropic, 'its provider does not answer chats'],
  ])('%s is refused: %s', async (model) => {
    const before = provider.requests.length
    const answer = await call(model)
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { code: 'unknown_model' } },
    ])
    expect(provider.requests.length).toBe(before)
  })

  it('finds its provider behind the id, also if the name has a slash of its own', async () => {
    for (const [model, path] of [
      ['groq/openai/gpt-oss-20b', '/groq/chat/completions'],
      ['openai/gpt-oss-20b', '/groq/chat/completions'],
      [`openai/${MODELS.openaiSmall}-2026-10-01`, '/openai/chat/completions'],
    ] as const) {
      expect((await call(model)).status).toBe(200)
      expect(provider.requests.at(-1)?.path).toBe(path)
    }
  })

  it('is that of the plan, if it is an alias', async () => {
    expect(await smart('starter')).toEqual([undefined, 400])
    expect(provider.requests.at(-1)?.body['model']).toBe(MODELS.openaiSmall)
    expect(await smart('enterprise')).toEqual([400, undefined])
    expect(provider.requests.at(-1)?.body['model']).toBe(MODELS.anthropic)
    expect(await smart('growth')).toEqual([400, 400])
    expect(await listOf('starter', 'openai')).toEqual(expect.arrayContaining(['fast', 'smart']))
    expect(await listOf('enterprise', 'openai')).not.toContain('smart')
    expect(await listOf('enterprise', 'anthropic')).toContain('smart')
    expect(await listOf('growth', 'anthropic')).not.toContain('smart')
    expect((await call('fast')).status).toBe(200)
    expect(provider.requests.at(-1)).toMatchObject({ body: { model: 'Qwen/Qwen3-8B' } })
  })

  it('is listed as it can be called, in the format of the client', async () => {
    const { openai, anthropic } = clientsOf(gateway.url, (await keys.create('growth')).key)
    const chats = (await openai.models.list()).data.map(({ id }) => id)
    const messages = (await anthropic.models.list()).data.map(({ id }) => id)
    for (const { model } of ROWS) expect(chats).toContain(model.replace(/^openrouter\//, ''))
    expect(messages.toSorted()).toEqual(
      [MODELS.anthropic, MODELS.anthropicSmall, 'deepseek-flash'].toSorted(),
    )
    for (const id of chats) expect(await openai.models.retrieve(id)).toMatchObject({ id })
  })

  it('is one name in the log, whichever a client uses', async () => {
    for (const model of ['groq/openai/gpt-oss-20b', 'openai/gpt-oss-20b']) {
      const answer = await call(model)
      await answer.text()
      expect(await lineOf(answer)).toMatchObject({ model: 'openai/gpt-oss-20b', provider: 'groq' })
    }
  })
})
