import { refuse, type Refusal } from '@sluice/core/http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHealth } from '../../apps/worker/src/health.ts'
import { createProviderStates } from '../../apps/worker/src/provider-states.ts'
import {
  chat,
  message,
  OPERATOR,
  post,
  startGateway,
  startRedisStack,
  upstreamsAt,
  type RedisStack,
} from './support/gateway.ts'

let gateway: RedisStack
let { keys, provider } = {} as Pick<RedisStack, 'keys' | 'provider'>
beforeAll(async () => {
  gateway = await startRedisStack()
  ;({ keys, provider } = gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const health = async (app: { readonly url: string } = gateway) => {
  const answer = await fetch(`${app.url}/health`)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  return { status: answer.status, facts: (await answer.json()) as Record<string, unknown> }
}

describe('/health, in workerd', () => {
  it('says that the store answers, without a request to it for each time that it is asked', async () => {
    const before = keys.store.requests
    for (let time = 0; time < 50; time += 1) {
      const { status, facts } = await health()
      expect([status, facts['status'], facts['configured']]).toEqual([200, 'ok', true])
      expect(facts['store']).toMatchObject({ status: 'answers' })
    }
    // A slow machine may take more than ten seconds for them.
    expect(keys.store.requests - before).toBeLessThan(25)
    expect(provider.requests).toEqual([])
  })

  it('says how the last call to each provider ended, without a call of its own', async () => {
    const { key, tenant } = await keys.create()
    const url = `${gateway.url}/v1`
    provider.respond = () => Response.json({ error: {} }, { status: 500 })
    await post(`${url}/chat/completions`, chat, { authorization: `Bearer ${key}` })
    provider.reset()
    await post(`${url}/messages`, message, { 'x-api-key': key })
    const before = provider.requests.length
    const { facts } = await health()
    expect(facts['providers']).toEqual([
      {
        id: 'openai',
        last: { outcome: 'failed', secondsAgo: expect.any(Number) },
      },
      {
        id: 'anthropic',
        last: { outcome: 'answered', secondsAgo: expect.any(Number) },
      },
    ])
    expect(provider.requests.length).toBe(before)
    const text = JSON.stringify(facts)
    for (const secret of [key, tenant, provider.url, keys.store.url, ...Object.values(OPERATOR)]) {
      expect(text).not.toContain(secret)
    }
  })

  it('answers HEAD without a body, and no other method', async () => {
    const head = await fetch(`${gateway.url}/health`, { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.get('x-request-id')).toMatch(/^req_/)
    const posted = await fetch(`${gateway.url}/health`, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('is 503 without a setting, which it names', async () => {
    const { url: UPSTASH_REDIS_REST_URL } = keys.store
    const app = await startGateway({ ...upstreamsAt(provider), UPSTASH_REDIS_REST_URL })
    try {
      const { status, facts } = await health(app)
      expect([status, facts['status'], facts['configured']]).toEqual([503, 'unavailable', false])
      expect(facts['message']).toContain('UPSTASH_REDIS_REST_TOKEN: is not set')
      await health(app)
      const told = app.logs.filter((line) => line.includes('UPSTASH_REDIS_REST_TOKEN'))
      expect(told).toHaveLength(1)
    } finally {
      await app.stop()
    }
  })

  it('is 503 while the store is away', async () => {
    await keys.store.down()
    const app = await startGateway(upstreamsAt(provider), keys.store)
    try {
      const { status, facts } = await health(app)
      expect([status, facts['store']]).toEqual([503, { status: 'unavailable', secondsAgo: 0 }])
    } finally {
      await app.stop()
      await keys.store.up()
    }
  })
})

const answerOf = (status: number): Refusal => refuse({ status, code: 'code', message: 'Message.' })

/** The health of a gateway over a store that answers when the test says so. */
function setUp() {
  let time = 0
  const asked: ((works: boolean) => void)[] = []
  const verify = () =>
    new Promise<Refusal>((resolve) => {
      asked.push((works) => resolve(answerOf(works ? 401 : 503)))
    })
  const ask = createHealth(verify, [], createProviderStates(), () => time)
  return { ask, asked, move: (ms: number) => void (time += ms) }
}
const storeOf = async (answer: Promise<Response>): Promise<unknown> => {
  const { store } = (await (await answer).json()) as { store: object }
  return { code: (await answer).status, ...store }
}

describe('the store', () => {
  it('that is another one than has counted is a wrong setting, which is told', async () => {
    const refusal = refuse({ status: 503, code: 'not_configured', message: 'Set STORE.' })
    const answer = await createHealth(async () => refusal, [], createProviderStates())()
    expect(await answer.json()).toEqual({
      status: 'unavailable',
      configured: false,
      message: 'Set STORE.',
    })
  })

  it('is asked once in ten seconds, and its last answer is told with its age', async () => {
    const { ask, asked, move } = setUp()
    const first = ask()
    asked[0]?.(true)
    expect(await storeOf(first)).toEqual({ code: 200, status: 'answers', secondsAgo: 0 })
    move(9_999)
    expect(await storeOf(ask())).toEqual({ code: 200, status: 'answers', secondsAgo: 10 })
    expect(asked).toHaveLength(1)
    move(1)
    const second = ask()
    asked[1]?.(false)
    expect(await storeOf(second)).toEqual({ code: 503, status: 'unavailable', secondsAgo: 0 })
  })

  it('is not asked by others while one waits for it, even if that one never hears of it', async () => {
    const { ask, asked, move } = setUp()
    void ask()
    for (let time = 0; time < 100; time += 1) {
      expect(await storeOf(ask())).toEqual({ code: 200, status: 'unknown' })
    }
    expect(asked).toHaveLength(1)
    move(10_000)
    const later = ask()
    asked[1]?.(true)
    expect(await storeOf(later)).toMatchObject({ status: 'answers' })
  })
})
