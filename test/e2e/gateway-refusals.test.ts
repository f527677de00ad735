import { randomUUID } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import { reserve } from '@sluice/core/reservations'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  chat,
  failureOf,
  message,
  startGateway,
  startProvider,
  startRedisStack,
  upstreamsAt,
  type RedisStack,
} from './support/gateway.ts'
import type { App } from './support/target.ts'

let gateway: RedisStack
let { keys, provider } = {} as Pick<RedisStack, 'keys' | 'provider'>
/** A gateway without a setting, and one whose provider is out of reach. */
let unset: App
let cutOff: App
beforeAll(async () => {
  gateway = await startRedisStack()
  ;({ keys, provider } = gateway)
  const away = await startProvider()
  await away[Symbol.asyncDispose]()
  unset = await startGateway({ ...upstreamsAt(provider), STORE: 'elsewhere' }, keys.store)
  cutOff = await startGateway({ ...upstreamsAt(away), PAUSE_SECONDS: '3000' }, keys.store)
})
afterAll(async () => {
  for (const app of [unset, cutOff]) await app.stop()
  await gateway[Symbol.asyncDispose]()
})
beforeEach(() => provider.reset())

/** The official clients with their two retries. They wait a millisecond, whatever they are told. */
function retryingClients(url: string, apiKey: string, defaultHeaders: Record<string, string> = {}) {
  const answers: { readonly headers: Headers; readonly text: string }[] = []
  const counted = async (input: string | URL | Request, init?: RequestInit) => {
    const answer = await fetch(input, init)
    const { status, headers } = answer
    const text = await answer.text()
    answers.push({ headers, text })
    const soon = new Headers(headers)
    soon.delete('retry-after')
    soon.set('retry-after-ms', '1')
    return new Response(text, { status, headers: soon })
  }
  const options = { apiKey, maxRetries: 2, fetch: counted, defaultHeaders }
  return {
    answers,
    openai: new OpenAI({ ...options, baseURL: `${url}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: url }),
  }
}
type Retrying = ReturnType<typeof retryingClients>

const openaiChat = ({ openai }: Retrying, extra: object = {}) =>
  openai.chat.completions.create({ ...chat, ...extra })
const anthropicMessage = ({ anthropic }: Retrying, extra: object = {}) =>
  anthropic.messages.create({ ...message, ...extra })
const countTokens = ({ anthropic }: Retrying) => {
  const { model, messages } = message
  return anthropic.messages.countTokens({ model, messages })
}

interface Refusal {
  readonly status: number
  readonly code: string
  /** True if the clients are to try again. */
  readonly isRetried: boolean
  readonly plan?: string
  readonly key?: string
  readonly app?: () => App
  readonly headers?: Record<string, string>
  /** Brings the tenant, the store or the provider into the state that refuses. */
  readonly before?: (tenant: string) => unknown
  readonly after?: () => unknown
  readonly calls?: readonly ((clients: Retrying) => Promise<unknown>)[]
}

const check: typeof keys.limiter.check = (...call) => keys.limiter.check(...call)

/** Uses up a part of the limits of a starter. */
const spend = (tenant: string, cost: object, charge = check) =>
  charge(
    { tenant, plan: 'starter', team: undefined, user: undefined, key: undefined, run: undefined },
    { cost: { request: 0, token: 0, usd: 0, call: 0, ...cost } },
  )

const REFUSALS: Record<string, Refusal> = {
  'a wrong key': { status: 401, code: 'invalid_api_key', isRetried: false, key: 'sk_none' },
  'a wrong key for tokens': {
    status: 401,
    code: 'invalid_api_key',
    isRetried: false,
    key: 'sk_none',
    calls: [countTokens, ({ openai }) => openai.models.list()],
  },
  'an invalid run': {
    status: 400,
    code: 'invalid_run',
    isRetried: false,
    headers: { 'x-agent-run': 'a run' },
  },
  'an unknown model': {
    status: 400,
    code: 'unknown_model',
    isRetried: false,
    calls: [
      (clients) => openaiChat(clients, { model: 'gpt-none' }),
      (clients) => anthropicMessage(clients, { model: 'claude-none' }),
    ],
  },
  'a model that is not offered': {
    status: 404,
    code: 'model_not_found',
    isRetried: false,
    calls: [({ openai }) => openai.models.retrieve('gpt-none')],
  },
  'a field that costs more': {
    status: 400,
    code: 'invalid_body',
    isRetried: false,
    calls: [(clients) => openaiChat(clients, { service_tier: 'priority' })],
  },
  'a body that is too large': {
    status: 413,
    code: 'body_too_large',
    isRetried: false,
    calls: [
      (clients) => openaiChat(clients, { user: 'u'.repeat(4_000_001) }),
      ({ anthropic }) =>
        anthropic.messages.countTokens({
          model: message.model,
          messages: [{ role: 'user', content: 'u'.repeat(4_000_001) }],
        }),
    ],
  },
  'an unknown address': {
    status: 404,
    code: 'not_found',
    isRetried: false,
    calls: [({ openai }) => openai.post('/nothing', { body: {} })],
  },
  'a method that is not allowed': {
    status: 405,
    code: 'method_not_allowed',
    isRetried: false,
    calls: [({ openai }) => openai.get('/chat/completions')],
  },
  'requests of a minute that are used up': {
    status: 429,
    code: 'rate_limit_exceeded',
    isRetried: true,
    plan: 'starter',
    before: (tenant) => spend(tenant, { request: 20 }),
    calls: [openaiChat, anthropicMessage, countTokens],
  },
  'a dollar of a day that is used up': {
    status: 429,
    code: 'insufficient_quota',
    isRetried: false,
    plan: 'starter',
    before: (tenant) => spend(tenant, { usd: 1_000_000 }),
  },
  'a call that never fits': {
    status: 429,
    code: 'cost_exceeds_limit',
    isRetried: false,
    plan: 'starter',
    calls: [
      (clients) =>
        openaiChat(clients, { messages: [{ role: 'user', content: 'word '.repeat(60_000) }] }),
    ],
  },
  'calls in flight': {
    status: 429,
    code: 'concurrency_exceeded',
    isRetried: true,
    plan: 'starter',
    before: (tenant) =>
      spend(tenant, { call: 3 }, (subject, options) => reserve(keys.limiter, subject, options)),
  },
  'a provider that refuses the operator’s key': {
    status: 502,
    code: 'upstream_unauthorized',
    isRetried: false,
    before: () => {
      provider.respond = () => Response.json({ error: { message: 'No' } }, { status: 401 })
    },
  },
  'a provider that is out of reach': {
    status: 502,
    code: 'upstream_unavailable',
    isRetried: false,
    app: () => cutOff,
  },
  'a provider that was out of reach three times': {
    status: 503,
    code: 'upstream_paused',
    isRetried: true,
    app: () => cutOff,
    calls: [
      async (clients) => {
        for (let time = 0; time < 3; time += 1) await failureOf(openaiChat(clients))
        clients.answers.length = 0
        return openaiChat(clients)
      },
    ],
  },
  'a gateway without a setting': {
    status: 503,
    code: 'not_configured',
    isRetried: false,
    app: () => unset,
  },
  'a store that is away': {
    status: 503,
    code: 'keys_unavailable',
    isRetried: true,
    before: () => keys.store.down(),
    after: () => keys.store.up(),
  },
}

describe('a refusal of the gateway', () => {
  it.each(Object.entries(REFUSALS))('%s is retried only if that can help', async (_, refusal) => {
    const { status, code, isRetried, plan = 'enterprise', app = () => gateway } = refusal
    const { calls = [openaiChat, anthropicMessage], before, after } = refusal
    for (const call of calls) {
      const { key, tenant } = await keys.create(plan, `tenant-${randomUUID()}`)
      await before?.(tenant)
      const clients = retryingClients(app().url, refusal.key ?? key, refusal.headers)
      try {
        expect(await failureOf(call(clients))).toMatchObject({ status })
      } finally {
        await after?.()
      }
      const { answers } = clients
      const advice = answers.map(({ headers }) => headers.get('x-should-retry'))
      expect(advice.every((text) => (text ?? 'true') === String(isRetried))).toBe(true)
      expect(answers).toHaveLength(isRetried ? 3 : 1)
      const { text = '', headers } = answers[0] ?? {}
      // The errors of a call that Anthropic's clients read have no code.
      const hasCode = !text.startsWith('{"type":"error"') || text.includes('"code"')
      expect(text).toContain(hasCode ? code : '"message"')
      // A retry has a time; and each refusal has the id of its request, in both headers.
      expect(/^\d+$/.test(headers?.get('retry-after') ?? '') || !isRetried).toBe(true)
      expect(headers?.get('x-request-id')).toMatch(/^req_[\da-f]{32}$/)
      expect(headers?.get('request-id')).toBe(headers?.get('x-request-id'))
    }
  })
})

const answerTo = async (headers: Record<string, string>): Promise<Headers> => {
  const { key } = await keys.create()
  const clients = retryingClients(gateway.url, key, headers)
  await openaiChat(clients)
  return clients.answers[0]?.headers ?? new Headers()
}

describe('the id of a request', () => {
  it.each(['x-request-id', 'x-client-request-id'])('in %s is kept, and sent on', async (name) => {
    provider.respond = () =>
      Response.json({}, { headers: { 'x-request-id': 'req_provider', 'request-id': 'req_other' } })
    const headers = await answerTo({ [name]: 'trace-1:2/3' })
    expect(headers.get('x-request-id')).toBe('trace-1:2/3')
    expect(headers.get('request-id')).toBe('trace-1:2/3')
    expect(headers.get('x-upstream-request-id')).toBe('req_provider')
    expect(provider.requests.at(-1)?.headers['x-client-request-id']).toBe('trace-1:2/3')
  })

  it.each(['a b', 'ü', 'a'.repeat(129), '{"a":1}', ''])(
    'is made anew if the client’s is %j',
    async (id) => {
      const { key } = await keys.create()
      const headers = { authorization: `Bearer ${key}`, 'x-request-id': encodeURI(id) }
      // Spaces and letters beyond ASCII cannot be sent as they are.
      const sent = { ...headers, 'x-request-id': id === 'ü' ? '\u00fc' : id }
      const body = JSON.stringify(chat)
      const url = `${gateway.url}/v1/chat/completions`
      const answer = await fetch(url, { method: 'POST', body, headers: sent })
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[\da-f]{32}$/)
    },
  )

  it('is the one that both clients report in their errors', async () => {
    provider.respond = () => new Response('{}', { status: 529, headers: { 'request-id': 'req_a' } })
    const { key } = await keys.create()
    const clients = retryingClients(gateway.url, key, { 'x-request-id': 'trace-1' })
    for (const call of [openaiChat, anthropicMessage]) {
      const error = await failureOf(call(clients))
      expect(error).toMatchObject({ status: 529, requestID: 'trace-1' })
    }
    expect(clients.answers.at(-1)?.headers.get('x-upstream-request-id')).toBe('req_a')
  })
})
