import { ConfigError, concurrency, fixedWindow, type Limiter, type Subject } from '@sluice/core'
import {
  boundInput,
  limitedFetch,
  limitedModel,
  ModelCallDenied,
  modelHandler,
  modelPolicies,
  usd,
} from '@sluice/ai'
import { describe, expect, it, vi } from 'vitest'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { limiterOf, limiterWith, post, PRICES, QUESTION, subject, used } from '../doors.ts'

const send = vi.fn<() => Response>(() => Response.json({}))

/** Each door that reads a body, as a function of the request. */
const DOORS: Readonly<
  Record<string, (limiter: Limiter, options?: object) => (request: Request) => Promise<Response>>
> = {
  modelHandler: (limiter, options) =>
    modelHandler(
      limiter,
      { subject, prices: PRICES, api: 'openai-chat', maxBodyBytes: 4_000_000, ...options },
      send,
    ),
  limitedFetch: (limiter, options) =>
    limitedFetch(limiter, { subject, prices: PRICES, fetch: async () => send(), ...options }),
}

const listsOf = (count: number): string => `{"messages":[${'[],'.repeat(count)}[]]}`

const REFUSED: readonly (readonly [name: string, status: number, code: string, body: unknown])[] = [
  ['no JSON', 400, 'invalid_body', '{'],
  ['nothing', 400, 'invalid_body', ''],
  ['a list', 400, 'invalid_body', '[]'],
  ['a field that is not allowed', 400, 'invalid_body', { ...QUESTION, turbo: true }],
  ['a malformed maximum', 400, 'invalid_body', { ...QUESTION, max_tokens: '5' }],
  ['an unknown model', 400, 'unknown_model', { ...QUESTION, model: 'gpt-99' }],
  ['lists in lists', 400, 'invalid_body', '['.repeat(129)],
  ['very many lists', 400, 'invalid_body', listsOf(250_000)],
  ['very many fields', 400, 'invalid_body', `{${'"a":0,'.repeat(150_000)}"a":0}`],
  ['more than 4 MB', 413, 'body_too_large', { ...QUESTION, user: 'x'.repeat(4_000_000) }],
]

describe.each(Object.keys(DOORS))('%s', (name) => {
  const door = (limiter: Limiter, options?: object) =>
    DOORS[name]?.(limiter, options) as never as (request: Request) => Promise<Response>

  it.each(REFUSED)('charges a request, and nothing else, for %s', async (_, status, code, body) => {
    const limiter = limiterOf()
    const answer = await door(limiter)(post(body))
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ error: { code } })
    const policies = ['rpm', 'tpm', 'budget.daily', 'in-flight']
    expect(await Promise.all(policies.map((policy) => used(limiter, policy)))).toEqual([1, 0, 0, 0])
    expect(send).not.toHaveBeenCalled()
  })

  it('answers 429 to invalid bodies beyond the limit of requests', async () => {
    const limiter = limiterOf(
      fixedWindow({ name: 'five', limit: 5, window: '1h', per: ['tenant'] }),
    )
    const call = door(limiter)
    const statuses: number[] = []
    for (let time = 0; time < 20; time += 1) statuses.push((await call(post('{'))).status)
    expect(statuses).toEqual([...Array(5).fill(400), ...Array(15).fill(429)])
    expect((await call(post(QUESTION))).status).toBe(429)
  })

  it('counts a refused body also where each model has a limit of its own', async () => {
    const perModel = fixedWindow({
      name: 'per-model',
      limit: 2,
      window: '1h',
      per: ['tenant', 'model'],
    })
    const call = door(limiterOf(perModel))
    const names = ['a', 'b', 'c']
    const answers = names.map((model) => call(post({ ...QUESTION, model })))
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 400, 429])
  })

  it('answers 400 where no policy counts requests', async () => {
    const limiter = limiterWith(usd(1))
    expect((await door(limiter)(post('{'))).status).toBe(400)
  })

  // A server that leaves a body unread resets the connection, and the client loses the answer.
  it.each([
    { chunks: 4_000, status: 400, read: 4_000 },
    { chunks: Infinity, status: 413, read: 4_001 },
  ])('reads $chunks kB of a refused body to answer $status', async ({ chunks, status, read }) => {
    let pulled = 0
    const lists = new TextEncoder().encode('['.repeat(1_000))
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (pulled === chunks) {
            controller.close()
            return
          }
          pulled += 1
          controller.enqueue(lists)
        },
      },
      { highWaterMark: 0 },
    )
    const request = post(QUESTION, { body, duplex: 'half' } as RequestInit)
    expect((await door(limiterOf())(request)).status).toBe(status)
    expect(pulled).toBe(read)
  })

  const own = ownRedisOverHttp()
  it('charges a refused body with one request to Redis', async () => {
    const policies = modelPolicies({ per: ['tenant'], rpm: 1, tpm: 9, daily: usd(1), inFlight: 1 })
    const { limiter } = own.setUp(policies)
    const call = door(limiter)
    await call(post('{'))
    const before = own.local.requests
    expect((await call(post('{'))).status).toBe(429)
    expect(own.local.requests - before).toBe(1)
  })
})

describe('limitedModel', () => {
  const inner = {
    specificationVersion: 'v3',
    provider: 'p',
    modelId: 'gpt-99',
    doGenerate: () => Promise.resolve({}),
  }
  const limiter = limiterOf(
    fixedWindow({ name: 'two', limit: 2, window: '1h', per: ['tenant'] }),
    concurrency({ name: 'slots', limit: 9, per: ['tenant'] }),
  )
  const ask = (whose: Subject, options: object) =>
    limitedModel({ ...inner, ...options } as never, limiter, {
      subject: whose,
      prices: PRICES,
      input: boundInput,
    }) as unknown as { doGenerate(call: object): Promise<never> }

  it('charges a request for a call that is refused, and denies beyond the limit', async () => {
    const image = { type: 'file', mediaType: 'image/png', data: new URL('https://images.example') }
    const prompt = [{ role: 'user', content: [image] }]
    const unknown = ask(subject(), {}).doGenerate({ prompt })
    await expect(unknown).rejects.toMatchObject({ code: 'unknown_model' })
    const known = ask(subject(), { modelId: 'gpt-4o' })
    await expect(known.doGenerate({ prompt })).rejects.toMatchObject({ code: 'invalid_body' })
    await expect(known.doGenerate({ prompt })).rejects.toThrow(ModelCallDenied)
    expect(await used(limiter, 'slots')).toBe(0)
  })

  it('does not charge a mistake of the options', async () => {
    const tools = [{ type: 'provider', id: 'openai.web_search', name: 'web_search', args: {} }]
    const other = { tenant: 'other' }
    const model = ask(other, { modelId: 'gpt-4o' })
    for (let time = 0; time < 3; time += 1) {
      await expect(model.doGenerate({ prompt: [], tools })).rejects.toThrow(ConfigError)
    }
  })
})
