import {
  modelHandler,
  type ModelApi,
  type ModelHandlerOptions,
  type SendCall,
  type Upstream,
} from '@sluice/ai'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, expectTypeOf, it, vi } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { BUDGET, limiterOf, PRICES, subject, used } from '../doors.ts'
import { serve, type Server } from '../provider.ts'

const messages = [{ role: 'user', content: 'Why?' }]

/** The path of each API, a body for it, and the field of its maximum. */
const APIS: Readonly<Record<ModelApi, { path: string; body: object; maximum?: string }>> = {
  'openai-chat': {
    path: '/v1/chat/completions',
    body: { messages, seed: 1 },
    maximum: 'max_tokens',
  },
  'openai-responses': {
    path: '/v1/responses',
    body: { input: 'Why?', store: false },
    maximum: 'max_output_tokens',
  },
  'openai-completions': {
    path: '/v1/completions',
    body: { prompt: 'Why?' },
    maximum: 'max_tokens',
  },
  'openai-embeddings': { path: '/v1/embeddings', body: { input: 'Why?' } },
  'anthropic-messages': {
    path: '/v1/messages',
    body: { messages, top_k: 1 },
    maximum: 'max_tokens',
  },
}
const NAMES = Object.keys(APIS) as ModelApi[]

/** The paths at which a client may ask a catch-all route. */
const PATHS = [...NAMES.map((api) => APIS[api].path), '/', '/api/chat', '/V1/EMBEDDINGS', '/embed']

/** Formats differ by the field of the question: a provider refuses other fields that it does not know, and bills nothing. */
const questionOf = (api: ModelApi): string | undefined => Object.keys(APIS[api].body)[0]
const fits = (address: ModelApi, body: ModelApi): boolean =>
  questionOf(address) === questionOf(body)

const CASES = NAMES.flatMap((address) =>
  NAMES.flatMap((body) => PATHS.map((path) => ({ address, body, path }))),
)

interface Sent {
  readonly path: string
  readonly key: string | null
  readonly body: Readonly<Record<string, unknown>>
}

let provider: Server
let sent: Sent[] = []
beforeAll(async () => {
  provider = await serve(async (request) => {
    const { headers } = request
    sent.push({
      path: new URL(request.url).pathname,
      key: headers.get('x-api-key') ?? headers.get('authorization'),
      body: (await request.json()) as Sent['body'],
    })
    return Response.json({ id: 'x' })
  })
})
afterAll(() => provider[Symbol.asyncDispose]())

const MODEL = 'deepseek-chat'
const ask = (body: object): RequestInit => ({
  method: 'POST',
  body: JSON.stringify({ model: MODEL, ...body }),
})
const upstreamOf = (api: ModelApi): Upstream => ({
  url: provider.url + APIS[api].path,
  key: 'of-the-operator',
})

/** A call as its client and its provider see it. */
const outcomeOf = (status: number) => ({
  status,
  sent: sent.map(({ path, key, body }) => ({
    path,
    key,
    maxima: Object.keys(body).filter((name) => name.startsWith('max_')),
  })),
})

/** The provider gets what its address takes, with its maximum; anything else is 400 and not sent. */
function byAddress(address: ModelApi, body: ModelApi): ReturnType<typeof outcomeOf> {
  if (!fits(address, body)) return { status: 400, sent: [] }
  const { path, maximum } = APIS[address]
  const key = address === 'anthropic-messages' ? 'of-the-operator' : 'Bearer of-the-operator'
  return { status: 200, sent: [{ path, key, maxima: maximum === undefined ? [] : [maximum] }] }
}

/** The bounds of the charge, in micro-dollars: 4,096 tokens of output at ten, and some of input. */
function chargeOf(address: ModelApi, body: ModelApi): [least: number, most: number] {
  if (!fits(address, body)) return [0, 0]
  return address === 'openai-embeddings' ? [1, 100] : [163_840, 164_100]
}

describe.each(NAMES)('a handler whose provider has the address of %s', (address) => {
  const cases = CASES.filter((one) => one.address === address)

  it.each(cases)('charges by it: $body at $path', async ({ body, path }) => {
    sent = []
    const limiter = limiterOf()
    const handle = modelHandler(limiter, { subject, prices: PRICES }, upstreamOf(address))
    const answer = await handle(new Request(`https://app.example${path}`, ask(APIS[body].body)))
    await answer.text()
    expect(outcomeOf(answer.status)).toEqual(byAddress(address, body))
    // The estimate stays, because this provider tells no usage.
    const charged = await used(limiter, 'budget.daily')
    const [least, most] = chargeOf(address, body)
    expect(charged).toBeGreaterThanOrEqual(least)
    expect(charged).toBeLessThanOrEqual(most)
  })
})

it('64 embeddings at once, sent to a provider of responses, do not exceed a dollar', async () => {
  sent = []
  const limiter = limiterOf()
  const handle = modelHandler(limiter, { subject, prices: PRICES }, upstreamOf('openai-responses'))
  const clients = Array.from({ length: 64 }, () =>
    handle(new Request('https://app.example/v1/embeddings', ask({ input: 'Why?' }))),
  )
  const answers = await Promise.all(clients)
  await Promise.all(answers.map((answer) => answer.text()))
  const most = sent.map(({ body }) => Number(body['max_output_tokens']) * 10)
  expect(most.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(BUDGET)
  expect(sent.length).toBeGreaterThan(0)
})

it('Claude at an address of OpenRouter is called as OpenRouter is', async () => {
  const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async () => Response.json({}))
  const openRouter = { url: 'https://openrouter.ai/api/v1/chat/completions', key: 'k' }
  const handle = modelHandler(limiterOf(), { subject, prices: PRICES }, openRouter)
  const body = JSON.stringify({ model: 'anthropic/claude-opus-4.5', messages, n: 1 })
  const answer = await handle(new Request('https://app.example/api/chat', { method: 'POST', body }))
  const [, init] = fetched.mock.calls[0] ?? []
  fetched.mockRestore()
  expect(answer.status).toBe(200)
  expect(init?.headers).toMatchObject({ authorization: 'Bearer k' })
  expect(init?.headers).not.toHaveProperty('x-api-key')
  expect(init?.body).toContain('"max_tokens":16384')
})

describe('in a Worker with a catch-all route', () => {
  const WORKER = `
import { createLimiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { definePrices, modelHandler, modelPolicies, usd } from '@sluice/ai'
const policies = modelPolicies({ per: ['tenant'], rpm: 1000, daily: usd(1000) })
const limiter = createLimiter({ store: memory(), policies })
const prices = definePrices({ '${MODEL}': { input: 1_000_000, output: 10_000_000 } })
let handlers
export default {
  fetch(request, env, ctx) {
    handlers ??= Object.entries(JSON.parse(env.APIS)).map(([api, path]) => [
      api,
      modelHandler(limiter, { subject: () => ({ tenant: 'acme' }), prices }, { url: env.URL + path, key: 'of-the-operator' }),
    ])
    const address = request.headers.get('x-address')
    return handlers.find(([api]) => api === address)[1](request, env, ctx)
  },
}`
  let miniflare: Miniflare
  let url: URL
  beforeAll(async () => {
    const { text: contents } = await bundle(WORKER)
    const value = JSON.stringify(Object.fromEntries(NAMES.map((api) => [api, APIS[api].path])))
    miniflare = new Miniflare({
      host: '127.0.0.1',
      port: 0,
      workers: [
        {
          config: {
            name: 'handler',
            compatibilityDate: '2026-10-01',
            manifest: {
              mainModule: 'index.js',
              modules: { 'index.js': { type: 'esm', contents } },
            },
            env: {
              URL: { type: 'text', value: provider.url },
              APIS: { type: 'text', value },
            },
          },
        },
      ],
    })
    url = await miniflare.ready
  })
  afterAll(() => miniflare.dispose())

  it.each(NAMES)('the address of %s decides', async (address) => {
    for (const { body, path } of CASES.filter((one) => one.address === address)) {
      sent = []
      const headers = { 'x-address': address }
      const answer = await fetch(new URL(path, url), { ...ask(APIS[body].body), headers })
      await answer.text()
      expect(outcomeOf(answer.status)).toEqual(byAddress(address, body))
    }
  })
})

describe('a request that lacks what its format has is answered with 400:', () => {
  it.each(NAMES.filter((api) => api !== 'openai-responses'))('%s', async (api) => {
    const send = vi.fn<SendCall>()
    const handle = modelHandler(limiterOf(), { subject, prices: PRICES, api }, send)
    const answer = await handle(new Request('https://app.example/', ask({})))
    expect(answer.status).toBe(400)
    expect(await answer.text()).toMatch(/body\.\w+: must be given in the format /)
    expect(send).not.toHaveBeenCalled()
  })
})

/** A handler whose provider has this address. */
const at = (url: unknown, options: object = {}) =>
  modelHandler(limiterOf(), { subject, prices: PRICES, ...options }, { url, key: 'k' } as Upstream)

describe('a mistake in what tells the format is an error that names it:', () => {
  const made = loosely((options: ModelHandlerOptions & { api: ModelApi }) =>
    modelHandler(limiterOf(), options, () => new Response()),
  )
  const responses = 'https://api.openai.com/v1/responses'
  mistakesAreNamed([
    ['a function without api', () => made({ subject }), 'modelHandler.api'],
    ['an api that nobody knows', () => made({ subject, api: 'gemini' }), 'modelHandler.api'],
    [
      'an address that tells nothing, without api',
      () => at('https://provider.example/generate'),
      'modelHandler.api',
    ],
    [
      'an api that is not that of the address',
      () => at(responses, { api: 'openai-embeddings' }),
      'modelHandler.api',
    ],
    ['no address', () => at(undefined), 'modelHandler.send.url'],
    ['an address without a protocol', () => at('api.openai.com'), 'modelHandler.send.url'],
    [
      'an address with credentials',
      () => at('https://u:p@api.example/v1/responses'),
      'modelHandler.send.url',
    ],
    [
      'an unknown member of the provider',
      () =>
        modelHandler(limiterOf(), { subject }, { url: responses, key: 'k', keys: [] } as Upstream),
      'modelHandler.send.keys',
      'unknown_option',
    ],
    [
      'nothing to send to',
      () => modelHandler(limiterOf(), { subject }, undefined as never),
      'modelHandler.send',
    ],
  ])

  it('a function without api does not compile', () => {
    const options = { subject, prices: PRICES }
    // @ts-expect-error -- a function hides the address of its provider
    expect(() => modelHandler(limiterOf(), options, () => new Response())).toThrow(
      'modelHandler.api: must be one of',
    )
    expectTypeOf(modelHandler(limiterOf(), options, { url: responses, key: 'k' })).toBeFunction()
  })

  it('an address that tells nothing is called with the api of the options', () => {
    expect(at('https://provider.example/generate', { api: 'openai-chat' })).toBeTypeOf('function')
    expect(at(responses, { api: 'openai-responses' })).toBeTypeOf('function')
    expect(
      at('https://x.azure.example/openai/deployments/d/chat/completions?api-version=1'),
    ).toBeTypeOf('function')
  })
})
