import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { OPENAI } from '../../apps/worker/src/providers/ready-made.ts'
import { forward } from '../../apps/worker/src/providers/send.ts'
import {
  chat,
  message,
  post,
  startGatewayStack,
  type GatewayProvider,
  type GatewayStack,
} from './support/gateway.ts'

let stack: GatewayStack
let { keys, provider } = {} as { keys: GatewayStack['keys']; provider: GatewayProvider }
beforeAll(async () => {
  stack = await startGatewayStack()
  ;({ keys, provider } = stack)
})
afterAll(() => stack[Symbol.asyncDispose]())
beforeEach(() => provider.reset())

const JSON_TYPE = { 'content-type': 'application/json' }
const openai = (code: string, type: string) =>
  JSON.stringify({ error: { message: 'Slow down.', type, param: null, code } })
const anthropic = (type: string) =>
  JSON.stringify({ type: 'error', error: { type, message: 'Slow down.' }, request_id: 'req_1' })

/** Errors as providers shape them: status, body and headers. */
const ERRORS: Record<string, [status: number, body: string, headers?: Record<string, string>]> = {
  'OpenAI, a rate': [
    429,
    openai('rate_limit_exceeded', 'requests'),
    { ...JSON_TYPE, 'retry-after': '7', 'retry-after-ms': '6500' },
  ],
  'OpenAI, its quota': [
    429,
    openai('insufficient_quota', 'insufficient_quota'),
    { ...JSON_TYPE, 'x-should-retry': 'false' },
  ],
  'OpenAI, its fault': [500, openai('server_error', 'server_error'), JSON_TYPE],
  'Anthropic, a rate': [
    429,
    anthropic('rate_limit_error'),
    { ...JSON_TYPE, 'retry-after': '20', 'x-should-retry': 'true' },
  ],
  'Anthropic, too much to do': [529, anthropic('overloaded_error'), JSON_TYPE],
  'Anthropic, out of time': [504, anthropic('timeout_error'), JSON_TYPE],
  'a number as code, with more about it': [
    429,
    '{"error":{"message":"Slow down.","code":429,"metadata":{"provider_name":"p","raw":"{}"}}}',
    JSON_TYPE,
  ],
  'a text as code, without a type': [
    429,
    '{"error":{"code":"429","message":"Slow down."}}',
    { ...JSON_TYPE, 'retry-after': '3', 'retry-after-ms': '2500' },
  ],
  'no error object': [
    503,
    '{"object":"error","message":"Slow down.","type":"service_tier_capacity_exceeded","code":"3505"}',
    JSON_TYPE,
  ],
  'a list of errors': [
    503,
    '[{"error":{"code":503,"message":"Slow down.","status":"UNAVAILABLE"}}]',
    JSON_TYPE,
  ],
  'a page of a proxy': [
    502,
    '<html><head><title>502 Bad Gateway</title></head></html>',
    { 'content-type': 'text/html' },
  ],
  'a date to retry at': [
    503,
    '{"error":{"message":"Slow down."}}',
    { ...JSON_TYPE, 'retry-after': 'Sun, 29 Nov 2026 10:00:00 GMT' },
  ],
  'nothing but a status': [503, ''],
}

/** Headers of an operator's account, which no client sees. */
const ACCOUNT = {
  'openai-organization': 'org-operator',
  'anthropic-organization-id': 'org-operator',
  'x-ratelimit-remaining-requests': '0',
  'x-ratelimit-remaining-tokens': '0',
  'set-cookie': '__cf_bm=1',
}

/** The micro-dollars and tokens that a tenant on the plan `growth` has left. */
async function leftOf(tenant: string): Promise<number[]> {
  const subject = { tenant, plan: 'growth', team: undefined, user: undefined, key: undefined }
  const cost = { request: 0, token: 0, usd: 0, call: 0 }
  const { policies } = await keys.limiter.peek({ ...subject, run: undefined }, { cost })
  return policies.filter(({ unit }) => unit !== 'request').map(({ remaining }) => remaining)
}

describe('an error of a provider', () => {
  it.each(Object.entries(ERRORS))(
    'is told as it is, and costs a request alone: %s',
    async (_, [status, body, headers = {}]) => {
      provider.respond = () =>
        new Response(body || null, { status, headers: { ...headers, ...ACCOUNT } })
      for (const [path, call] of [
        ['/v1/chat/completions', chat],
        ['/v1/responses', { model: chat.model, input: 'Why?', stream: true }],
        ['/v1/messages', message],
      ] as const) {
        const { key, tenant } = await keys.create()
        const before = await leftOf(tenant)
        const answer = await post(stack.url + path, call, { 'x-api-key': key })
        expect([answer.status, await answer.text()]).toEqual([status, body])
        for (const name of ['content-type', 'retry-after', 'retry-after-ms', 'x-should-retry']) {
          expect(answer.headers.get(name), `the header ${name}`).toBe(headers[name] ?? null)
        }
        // Those of the plan have the same names.
        for (const [name, value] of Object.entries(ACCOUNT)) {
          expect(answer.headers.get(name), `the header ${name}`).not.toBe(value)
        }
        await expect.poll(() => leftOf(tenant), { timeout: 60_000 }).toEqual(before)
      }
    },
  )

  it('that is longer than 64 KiB is answered with 502, and costs a request alone', async () => {
    const { key, tenant } = await keys.create()
    const before = await leftOf(tenant)
    provider.respond = () => new Response('x'.repeat(70_000), { status: 500 })
    const answer = await post(`${stack.url}/v1/messages`, message, { 'x-api-key': key })
    expect(answer.status).toBe(502)
    await expect.poll(() => leftOf(tenant), { timeout: 60_000 }).toEqual(before)
  })

  it('that breaks off keeps its status, by which nothing is charged', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(body, { status: 500 })))
    const { signal } = new AbortController()
    const call = { api: 'openai-chat', body: '{}', signal } as const
    const inUse = { ...OPENAI, baseUrl: 'http://provider.example', secret: 'sk-operator' }
    const answer = await forward(inUse, call, new Headers())
    expect([answer.status, await answer.text()]).toEqual([500, ''])
    vi.unstubAllGlobals()
  })
})
