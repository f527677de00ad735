import { createLimiter, dailyCap, slidingWindow, type Limiter, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedFetch, modelHandler } from '@sluice/ai'
import { describe, expect, it } from 'vitest'
import { post, PRICES, QUESTION, subject } from '../doors.ts'

const QUOTAS = ['daily_quota_exceeded', 'monthly_quota_exceeded', 'quota_exceeded'] as const

type Call = () => Promise<Response>

/** Options beside the subject and the prices. */
type More = Readonly<Record<string, unknown>>

/** The doors that answer with a response, each with a provider. */
const DOORS: Readonly<
  Record<string, (limiter: Limiter, provider: () => Response, more?: More) => Call>
> = {
  modelHandler(limiter, provider, more = {}) {
    const options = { subject, prices: PRICES, api: 'openai-chat', ...more } as const
    const handle = modelHandler(limiter, options as never, provider)
    return () => handle(request())
  },
  limitedFetch(limiter, provider, more = {}) {
    const options = { subject, prices: PRICES, fetch: async () => provider(), ...more }
    const limited = limitedFetch(limiter, options)
    return () => limited(request())
  },
}

const request = (): Request => {
  const asked = post(QUESTION)
  asked.headers.set('origin', 'https://app.example')
  return asked
}

const limiterOf = (policy: Policy): Limiter =>
  createLimiter({ store: memory(), policies: [policy] })

const rpm = (limit: number): Limiter =>
  limiterOf(slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] }))

const askToPay = (): Response => Response.json({ pay: 'https://app.example' }, { status: 402 })

const repeatQuestion = async (_: unknown, asked: Request): Promise<Response> =>
  Response.json({ asked: await asked.json() })

const repeatText = async (_: unknown, asked: Request): Promise<Response> =>
  Response.json({ method: asked.method, text: await asked.text() }, { status: 203 })

describe.each(Object.entries(DOORS))('%s', (_, open) => {
  it("leaves a provider's denial with its own headers", async () => {
    const headers = { 'retry-after': '20', 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '0' }
    const refuse = (): Response => Response.json({ error: {} }, { status: 429, headers })
    const answer = await open(rpm(50), refuse)()
    expect(answer.status).toBe(429)
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(answer.headers.get('x-ratelimit-limit')).toBe('3')
    expect(answer.headers.has('ratelimit')).toBe(false)
  })

  it('lets a page of another origin read the headers of an answer and of a denial', async () => {
    const call = open(rpm(1), () => Response.json({}))
    for (const status of [200, 429]) {
      const answer = await call()
      expect(answer.status).toBe(status)
      const exposed = answer.headers.get('access-control-expose-headers')?.split(', ')
      expect(exposed).toContain('X-RateLimit-Remaining')
      expect(exposed?.filter((name) => !answer.headers.has(name))).toEqual([])
    }
  })

  it.each(QUOTAS)('says of %s what a client of OpenAI looks for, also with 402', async (reason) => {
    const daily = dailyCap({ name: 'daily', limit: 1, per: ['tenant'] })
    const limiter = limiterOf(() => daily().map((rule) => Object.assign({}, rule, { reason })))
    const call = open(limiter, () => Response.json({}), { spentStatus: 402 })
    await call()
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.headers.has('retry-after')).toBe(false)
    const { error } = (await answer.json()) as { error: object }
    expect(error).toMatchObject({ type: 'insufficient_quota', code: 'insufficient_quota' })
  })

  it('adds no time to an answer of onDenied that asks to pay', async () => {
    const call = open(rpm(1), () => Response.json({}), { onDenied: askToPay })
    await call()
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.headers.has('retry-after')).toBe(false)
    expect(answer.headers.has('x-ratelimit-limit')).toBe(true)
  })
})

it('limitedFetch takes a request without a signal, as of another library', async () => {
  const asked = Object.defineProperty(request(), 'signal', { value: null })
  const limited = limitedFetch(rpm(1), {
    subject,
    prices: PRICES,
    fetch: async () => Response.json({}),
  })
  expect((await limited(asked)).status).toBe(200)
})

describe('modelHandler', () => {
  it('gives onDenied a request that can be read', async () => {
    const call = DOORS['modelHandler']?.(rpm(1), () => Response.json({}), {
      onDenied: repeatQuestion,
    }) as Call
    await call()
    expect(await (await call()).json()).toMatchObject({ asked: QUESTION })
  })

  it.each([
    ['no JSON', { method: 'POST', body: '{"model"' }],
    ['JSON that nests too deeply', { method: 'POST', body: '['.repeat(5_000) }],
    ['empty', { method: 'POST', body: '' }],
    ['none', { method: 'GET' }],
  ])('gives onDenied a request without a body if that was %s', async (_, init) => {
    const handle = modelHandler(
      rpm(1),
      { subject, prices: PRICES, api: 'openai-chat', onDenied: repeatText },
      () => Response.json({}),
    )
    await handle(new Request('https://app.example/', init))
    const answer = await handle(new Request('https://app.example/', init))
    expect(answer.status).toBe(203)
    expect(await answer.json()).toEqual({ method: init.method, text: '' })
  })

  it('passes no header on that is about the connection to the provider', async () => {
    const headers = {
      connection: 'keep-alive',
      'keep-alive': 'timeout=5',
      'transfer-encoding': 'chunked',
      'x-request-id': 'r1',
    }
    const call = DOORS['modelHandler']?.(rpm(1), () => Response.json({}, { headers })) as Call
    const answer = await call()
    const names = [...answer.headers.keys()]
    expect(names).toContain('x-request-id')
    for (const name of ['connection', 'keep-alive', 'transfer-encoding']) {
      expect(names).not.toContain(name)
    }
  })
})
