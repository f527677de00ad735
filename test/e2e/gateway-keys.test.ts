import { createHash } from 'node:crypto'
import { modelPolicies } from '@sluice/ai'
import { createApiKey, revokeApiKey } from '@sluice/core/api-keys'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyVerifier } from '../../apps/worker/src/keys.ts'
import { setUp } from '../support/limiters.ts'
import {
  chat,
  clientsOf,
  failureOf,
  message,
  post,
  STACKS,
  startRedisStack,
  type GatewayStack,
  type RedisStack,
} from './support/gateway.ts'
import { redisText } from './support/redis-text.ts'

describe('a verifier', () => {
  const { limiter } = setUp(modelPolicies({ per: ['tenant'], rpm: 60 }))
  const verify = keyVerifier(limiter)
  const sent = (headers: Record<string, string>) =>
    verify(new Request('http://gateway.example', { headers }))

  it('finds the subject of a key, in either header, without the key itself', async () => {
    const { key, id } = await createApiKey(limiter, { tenant: 'acme', plan: 'growth' })
    const subject = { tenant: 'acme', plan: 'growth', key: id, team: undefined, user: undefined }
    for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }]) {
      expect(await sent(headers as Record<string, string>)).toEqual({ ...subject, run: undefined })
    }
    // Their policies report a dimension that a request does not name.
    expect(Object.keys(await sent({ 'x-api-key': key }))).toEqual(
      expect.arrayContaining(['team', 'user', 'run']),
    )
  })

  it('knows the team and the user of a key, and the run that a client names', async () => {
    const owner = { tenant: 'acme', team: 'search', user: 'u_17', plan: 'growth' }
    const { key, id } = await createApiKey(limiter, owner)
    const run = (name: string) => sent({ 'x-api-key': key, 'x-agent-run': name })
    expect(await run('run_7')).toEqual({ ...owner, key: id, run: 'run_7' })
    expect(await run('a run')).toMatchObject({ options: { status: 400, code: 'invalid_run' } })
  })

  it('refuses a client without a key, whatever run it names', async () => {
    expect(await sent({ 'x-agent-run': 'a run' })).toMatchObject({ options: { status: 401 } })
  })
})

const models = ({ url }: GatewayStack, key: string): Promise<Response> =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })

describe('a key in Redis', () => {
  let stack: RedisStack
  let { keys, provider } = {} as Pick<RedisStack, 'keys' | 'provider'>
  beforeAll(async () => {
    stack = await startRedisStack()
    ;({ keys, provider } = stack)
  })
  afterAll(() => stack[Symbol.asyncDispose]())

  it('is 401 if nobody has it, with one request to Redis for each header, however often it is tried', async () => {
    const wrong = `sk_${'x'.repeat(43)}`
    const { openai, anthropic } = clientsOf(stack.url, wrong)
    const before = [provider.requests.length, keys.store.requests]
    for (let attempt = 0; attempt < 20; attempt += 1) {
      expect(await failureOf(openai.chat.completions.create(chat))).toMatchObject({
        status: 401,
        code: 'invalid_api_key',
      })
    }
    expect(await failureOf(anthropic.messages.create(message))).toMatchObject({
      status: 401,
      type: 'authentication_error',
    })
    expect([provider.requests.length, keys.store.requests - 2]).toEqual(before)
  })

  it('is not looked up if it has another form, or is missing', async () => {
    const before = keys.store.requests
    for (const headers of [
      {},
      { authorization: 'Bearer sk_short' },
      { authorization: `Basic sk_${'y'.repeat(43)}` },
      { 'x-api-key': `sk_${'y'.repeat(42)}*` },
      { 'x-api-key': 'y'.repeat(8_000) },
    ]) {
      expect((await post(stack.url + '/v1/messages', message, headers)).status).toBe(401)
      expect((await fetch(`${stack.url}/v1/models`, { headers })).status).toBe(401)
    }
    expect(keys.store.requests).toBe(before)
  })

  it('is in Redis by its hash only', async () => {
    const { key, id } = await keys.create()
    await clientsOf(stack.url, key).openai.chat.completions.create(chat)
    const text = await redisText(keys.store)
    expect(text).toContain(createHash('sha256').update(key).digest('hex'))
    expect(text).toContain(id)
    expect(text).not.toContain(key)
    expect(text).not.toContain(key.slice(3))
  })

  it('is 503 while Redis is down, unless it has just been verified', async () => {
    const verified = await keys.create()
    const unverified = await keys.create()
    expect((await models(stack, verified.key)).status).toBe(200)
    await keys.store.down()
    try {
      expect((await models(stack, verified.key)).status).toBe(200)
      const unknown = await models(stack, unverified.key)
      expect(unknown.status).toBe(503)
      expect(await unknown.json()).toMatchObject({ error: { code: 'keys_unavailable' } })
      // The budget is in Redis, too.
      const call = await post(stack.url + '/v1/messages', message, { 'x-api-key': verified.key })
      expect(call.status).toBe(503)
    } finally {
      await keys.store.up()
    }
    expect((await models(stack, unverified.key)).status).toBe(200)
  })
})

it.concurrent.each(STACKS)(
  'a key in %s stops working within 5 seconds after it is revoked',
  async (_, start) => {
    await using stack = await start()
    const { key, id } = await stack.keys.create()
    let lastAcceptedAt = 0
    const status = async (): Promise<number> => {
      const sentAt = Date.now()
      const answer = await models(stack, key)
      if (answer.status === 200) lastAcceptedAt = sentAt
      return answer.status
    }
    expect(await status()).toBe(200)
    await revokeApiKey(stack.keys.limiter, id)
    const revokedAt = Date.now()
    await expect.poll(status, { timeout: 30_000, interval: 50 }).toBe(401)
    expect(lastAcceptedAt - revokedAt).toBeLessThan(5_000)
    expect((await post(`${stack.url}/v1/messages`, message, { 'x-api-key': key })).status).toBe(401)
  },
)
