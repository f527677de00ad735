import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  chat,
  clientsOf,
  failureOf,
  message,
  OPERATOR,
  startGateway,
  startProvider,
  startRedisStack,
  upstreamsAt,
  type RedisStack,
} from './support/gateway.ts'
import type { WorkerApp } from './support/workerd.ts'

/** A part of every request and every answer of these tests. */
const SECRET = 'zebra-content-7731'
const stream = true as const

let stack: RedisStack
let { app: gateway, keys, provider } = {} as Pick<RedisStack, 'app' | 'keys' | 'provider'>
let silent: WorkerApp
let cutOff: WorkerApp
let impatient: WorkerApp
let counting: WorkerApp
beforeAll(async () => {
  stack = await startRedisStack()
  ;({ app: gateway, keys, provider } = stack)
  const away = await startProvider()
  await away[Symbol.asyncDispose]()
  const { store } = keys
  const settings = upstreamsAt(provider)
  silent = await startGateway({ ...settings, LOG_CALLS: 'off' }, store)
  cutOff = await startGateway({ ...upstreamsAt(away), PAUSE_SECONDS: '3000' }, store)
  const short = { ANSWER_TIMEOUT_SECONDS: '1', IDLE_TIMEOUT_SECONDS: '1' }
  impatient = await startGateway({ ...settings, ...short, TENANT_IDS: 'hashed' }, store)
  counting = await startGateway({ ...settings, ...short, INCOMPLETE: 'counted' }, store)
})
afterAll(async () => {
  for (const app of [silent, cutOff, impatient, counting]) await app.stop()
  await stack[Symbol.asyncDispose]()
})
beforeEach(() => provider.reset())

interface Line {
  readonly request: string
  readonly status: number
  readonly outcome: string
  readonly tenant?: string
  readonly charged: { readonly usd?: number; readonly token?: number }
}

const linesOf = (...apps: WorkerApp[]): string[] => apps.flatMap(({ logs }) => logs)

/** Returns the line of a request, which comes once its answer has passed. */
const lineOf = (id: string): Promise<Line> =>
  vi.waitFor(
    () => {
      const found = linesOf(gateway, cutOff, impatient, counting)
        // The runtime has lines of its own, such as that of a stream that broke.
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Line)
        .filter((line) => line.request === id)
      expect(found).toHaveLength(1)
      return found[0] as Line
    },
    { timeout: 30_000 },
  )

/** The micro-dollars and tokens that a tenant on the plan `growth` has used. */
async function usedBy(tenant: string): Promise<{ usd: number; token: number }> {
  const subject = { tenant, plan: 'growth', team: undefined, user: undefined, key: undefined }
  const cost = { request: 0, token: 0, usd: 0, call: 0 }
  const { policies } = await keys.limiter.peek({ ...subject, run: undefined }, { cost })
  const used = (name: string) => {
    const { burst = 0, remaining = 0 } = policies.find((policy) => policy.name === name) ?? {}
    return burst - remaining
  }
  return { usd: used('budget.daily'), token: used('tpm') }
}

const clientsWith = (app: WorkerApp, key: string, id: string) => {
  const defaultHeaders = { 'x-request-id': id }
  const { openai, anthropic } = clientsOf(app.url, key)
  return {
    openai: openai.withOptions({ defaultHeaders }),
    anthropic: anthropic.withOptions({ defaultHeaders }),
  }
}
type Clients = ReturnType<typeof clientsWith>

const asking = { messages: [{ role: 'user' as const, content: `${SECRET}?` }] }
const read = async (events: AsyncIterable<unknown>) => {
  for await (const event of events) void event
}

/** A call of each address, and the outcome in its line. */
const CALLS: Record<string, [outcome: string, call: (clients: Clients) => Promise<unknown>]> = {
  chat: ['answered', ({ openai }) => openai.chat.completions.create({ ...chat, ...asking })],
  'a streamed chat': [
    'answered',
    async ({ openai }) =>
      read(await openai.chat.completions.create({ ...chat, ...asking, stream })),
  ],
  response: [
    'answered',
    ({ openai }) => openai.responses.create({ model: chat.model, input: SECRET }),
  ],
  'a streamed response': [
    'answered',
    async ({ openai }) =>
      read(await openai.responses.create({ model: chat.model, input: SECRET, stream })),
  ],
  embedding: [
    'answered',
    ({ openai }) => openai.embeddings.create({ model: 'text-embedding-3-small', input: SECRET }),
  ],
  message: ['answered', ({ anthropic }) => anthropic.messages.create({ ...message, ...asking })],
  'a streamed message': [
    'answered',
    async ({ anthropic }) =>
      read(await anthropic.messages.create({ ...message, ...asking, stream })),
  ],
  'a count of tokens': [
    'answered',
    ({ anthropic }) => anthropic.messages.countTokens({ model: message.model, ...asking }),
  ],
  'the list of models': ['answered', async ({ openai }) => read(openai.models.list())],
  'the usage of a key': ['answered', ({ openai }) => openai.get('/usage')],
  'a model that is not offered': ['refused', ({ openai }) => openai.models.retrieve(SECRET)],
  'an unknown model': [
    'refused',
    ({ openai }) => openai.chat.completions.create({ ...chat, model: SECRET }),
  ],
  'a field that is not allowed': [
    'refused',
    ({ openai }) => openai.chat.completions.create({ ...chat, [SECRET]: 1 } as typeof chat),
  ],
  'an unknown address': ['refused', ({ openai }) => openai.post(`/${SECRET}`, { body: {} })],
}

describe('the line of a call', () => {
  it.each(Object.entries(CALLS))(
    'has nothing of its content, and one line: %s',
    async (name, [outcome, call]) => {
      const { key, id: keyId, tenant } = await keys.create()
      const id = `log-${name.replaceAll(' ', '-')}`
      await failureOf(call(clientsWith(gateway, key, id)))
      const line = await lineOf(id)
      expect(line.outcome).toBe(outcome)
      expect(line.status >= 400).toBe(outcome === 'refused')
      // Its charge is that of the ledger.
      const { usd = 0, token = 0 } = line.charged
      expect({ usd, token }).toEqual(await usedBy(tenant))
      const known = name === 'an unknown address' ? {} : { tenant, key: keyId }
      expect(line).toMatchObject(known)
      const text = gateway.logs.join('\n')
      for (const secret of [SECRET, key, ...Object.values(OPERATOR)])
        expect(text).not.toContain(secret)
    },
  )

  it('has the model, the provider, its id of the request, and the time that it took', async () => {
    const { key } = await keys.create()
    provider.respond = () =>
      Response.json(
        { error: { message: SECRET } },
        { status: 500, headers: { 'x-request-id': 'req_p' } },
      )
    await failureOf(clientsWith(gateway, key, 'log-error').openai.chat.completions.create(chat))
    expect(await lineOf('log-error')).toMatchObject({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      address: '/v1/chat/completions',
      model: chat.model,
      provider: 'openai',
      providerRequest: 'req_p',
      status: 500,
      ms: expect.any(Number),
      charged: {},
      outcome: 'error',
    })
    expect(gateway.logs.join('\n')).not.toContain(SECRET)
  })

  it('has a digest of the tenant with TENANT_IDS=hashed', async () => {
    const { key, tenant } = await keys.create()
    await failureOf(clientsWith(impatient, key, 'log-digest').openai.models.retrieve('none'))
    expect((await lineOf('log-digest')).tenant).toMatch(/^[\da-f]{16}$/)
    expect(impatient.logs.join()).not.toContain(tenant)
  })

  it('is left out with LOG_CALLS=off', async () => {
    const { key } = await keys.create()
    await clientsWith(silent, key, 'log-off').openai.chat.completions.create(chat)
    await clientsWith(gateway, key, 'log-on').openai.chat.completions.create(chat)
    await lineOf('log-on')
    expect(silent.logs.filter((line) => line.startsWith('{'))).toEqual([])
  })
})

describe('a provider that is out of reach', () => {
  it('keeps three of thirteen estimates, and the lines say which', async () => {
    const { key, tenant } = await keys.create()
    const charged: number[] = []
    for (let call = 0; call < 13; call += 1) {
      const id = `away-${call}`
      const { openai } = clientsWith(cutOff, key, id)
      await failureOf(openai.chat.completions.create({ ...chat, ...asking }))
      const { outcome, charged: units } = await lineOf(id)
      expect(outcome).toBe(call < 3 ? 'unreachable' : 'paused')
      charged.push(units.usd ?? 0)
    }
    expect(charged.filter((usd) => usd > 0)).toHaveLength(3)
    const sum = charged.reduce((total, usd) => total + usd, 0)
    await vi.waitFor(async () => expect((await usedBy(tenant)).usd).toBe(sum), { timeout: 30_000 })
  })
})

/** An answer that begins and never ends. */
const stall = (type: string, begin = '') => {
  const body = new ReadableStream({
    start: (controller) => void (begin && controller.enqueue(new TextEncoder().encode(begin))),
  })
  return new Response(body, { headers: { 'content-type': type } })
}

describe('a provider that stops', () => {
  it('before it begins is answered with 504, and keeps the estimate', async () => {
    const { key, tenant } = await keys.create()
    provider.respond = () => new Promise(() => undefined)
    const { openai } = clientsWith(impatient, key, 'stop-before')
    const error = await failureOf(openai.chat.completions.create({ ...chat, ...asking }))
    expect(error).toMatchObject({
      status: 504,
      code: 'upstream_timeout',
      message: expect.stringContaining('Its estimate stays charged'),
    })
    const { charged, outcome } = await lineOf('stop-before')
    expect(outcome).toBe('timed_out')
    await vi.waitFor(async () => expect(await usedBy(tenant)).toEqual(charged), {
      timeout: 30_000,
    })
  })

  it('within an answer costs what was counted with INCOMPLETE=counted', async () => {
    const { key, tenant } = await keys.create()
    const begin = 'data: {"choices":[{"delta":{"content":"Be"}}]}\n\n'
    provider.respond = () => stall('text/event-stream', begin)
    const call = { ...chat, ...asking, stream, max_completion_tokens: 1_000 }
    const { openai } = clientsWith(counting, key, 'stop-counted')
    const { message: text = '' } = (await failureOf(
      openai.chat.completions.create(call).then(read),
    )) as { message?: string }
    expect(text).toContain('The tokens that have passed are charged.')
    const { charged, outcome } = await lineOf('stop-counted')
    expect(outcome).toBe('incomplete')
    expect(charged.token).toBeGreaterThan(0)
    expect(charged.token).toBeLessThan(100)
    await vi.waitFor(async () => expect(await usedBy(tenant)).toEqual(charged), {
      timeout: 30_000,
    })
  })

  it.each([
    [
      'chat',
      'data: {"choices":[{"delta":{"content":"Be"}}]}\n\n',
      async ({ openai }: Clients) =>
        read(await openai.chat.completions.create({ ...chat, ...asking, stream })),
    ],
    [
      'response',
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"Be"}\n\n',
      async ({ openai }: Clients) =>
        read(await openai.responses.create({ model: chat.model, input: SECRET, stream })),
    ],
    [
      'message',
      'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n',
      async ({ anthropic }: Clients) =>
        read(await anthropic.messages.create({ ...message, ...asking, stream })),
    ],
  ])(
    'within a streamed %s makes its client throw, and keeps the estimate',
    async (name, begin, call) => {
      const { key, tenant } = await keys.create()
      provider.respond = () => stall('text/event-stream', begin)
      const id = `stop-within-${name}`
      const { message: text = '' } = (await failureOf(call(clientsWith(impatient, key, id)))) as {
        message?: string
      }
      expect(text).toContain('has stopped sending for 1 s')
      const { charged, outcome } = await lineOf(id)
      expect(outcome).toBe('incomplete')
      expect(charged.usd).toBeGreaterThan(0)
      await vi.waitFor(async () => expect(await usedBy(tenant)).toEqual(charged), {
        timeout: 30_000,
      })
    },
  )
})
