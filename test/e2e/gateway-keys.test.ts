import { createHash } from 'node:crypto'
import { Refusal } from '@sluice/core/http'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { hashOf, keyVerifier, type KeyRecord } from '../../apps/worker/src/keys.ts'
import type { Redis } from '../../apps/worker/src/redis.ts'
import {
  chat,
  clientsOf,
  failureOf,
  message,
  post,
  startGatewayStack,
  type GatewayStack,
} from './support/gateway.ts'
import { redisText } from './support/redis-text.ts'

const RECORD: KeyRecord = { id: 'key_1', tenant: 'acme', plan: 'growth', created: '2026-11-01' }
const keyOf = (name: string | number): string => `sk-${String(name).padStart(43, '0')}`
const requestOf = (key: string): Request =>
  new Request('http://gateway.example', { headers: { authorization: `Bearer ${key}` } })

/** A verifier with one key, the look-ups that it has made, and its clock. */
function setUp() {
  const stored = new Map<string, string>()
  const time = { now: 1_000_000 }
  const redis = vi.fn<Redis>(async (_command, _name, hash = '') => {
    await Promise.resolve()
    return stored.get(hash) ?? null
  })
  const verify = keyVerifier(redis, () => time.now)
  /** Returns the tenant of a key, or the status of the refusal. */
  const ask = async (key: string) => {
    const found = await verify(requestOf(key))
    return found instanceof Refusal ? found.options.status : found.tenant
  }
  return { stored, time, redis, verify, ask }
}

describe('an isolate', () => {
  it('relies on a key for less than 5 seconds', async () => {
    const { stored, time, redis, ask } = setUp()
    const hash = await hashOf(keyOf(1))
    stored.set(hash, JSON.stringify(RECORD))
    expect(await ask(keyOf(1))).toBe('acme')
    stored.delete(hash)
    time.now += 4_999
    expect(await ask(keyOf(1))).toBe('acme')
    expect(redis).toHaveBeenCalledTimes(1)
    time.now += 1
    expect(await ask(keyOf(1))).toBe(401)
    expect(redis).toHaveBeenCalledTimes(2)
  })

  it('counts from the start of a look-up, whose reply may be slow', async () => {
    const { stored, time, redis, ask } = setUp()
    stored.set(await hashOf(keyOf(1)), JSON.stringify(RECORD))
    redis.mockImplementationOnce(async (_command, _name, hash = '') => {
      await Promise.resolve()
      time.now += 4_000
      return stored.get(hash) ?? null
    })
    expect(await ask(keyOf(1))).toBe('acme')
    time.now += 1_000
    await ask(keyOf(1))
    expect(redis).toHaveBeenCalledTimes(2)
  })

  it('looks a key up again when the clock has moved back', async () => {
    const { stored, time, redis, ask } = setUp()
    stored.set(await hashOf(keyOf(1)), JSON.stringify(RECORD))
    await ask(keyOf(1))
    time.now -= 60_000
    await ask(keyOf(1))
    expect(redis).toHaveBeenCalledTimes(2)
  })

  it('remembers unknown keys as well, and accepts one 5 seconds after it was made', async () => {
    const { stored, time, redis, ask } = setUp()
    for (let attempt = 0; attempt < 50; attempt += 1) expect(await ask(keyOf(1))).toBe(401)
    expect(redis).toHaveBeenCalledTimes(1)
    stored.set(await hashOf(keyOf(1)), JSON.stringify(RECORD))
    time.now += 5_000
    expect(await ask(keyOf(1))).toBe('acme')
  })

  it('remembers 10,000 unknown keys at most, which displace no known one', async () => {
    const { stored, redis, ask } = setUp()
    stored.set(await hashOf(keyOf('known')), JSON.stringify(RECORD))
    await ask(keyOf('known'))
    for (let index = 0; index <= 10_000; index += 1) await ask(keyOf(index))
    redis.mockClear()
    await ask(keyOf('known'))
    await ask(keyOf(10_000))
    expect(redis).not.toHaveBeenCalled()
    await ask(keyOf(0))
    expect(redis).toHaveBeenCalledTimes(1)
  })

  it('is 503 if Redis fails, except for a key that it relies on', async () => {
    const { stored, time, redis, ask } = setUp()
    stored.set(await hashOf(keyOf(1)), JSON.stringify(RECORD))
    const log = vi.spyOn(console, 'error').mockReturnValue()
    await ask(keyOf(1))
    redis.mockRejectedValue(new Error('no answer'))
    time.now += 4_999
    expect([await ask(keyOf(1)), await ask(keyOf(2))]).toEqual(['acme', 503])
    time.now += 1
    expect(await ask(keyOf(1))).toBe(503)
    expect(log).toHaveBeenCalledTimes(2)
    log.mockRestore()
  })

  it('takes nothing but a record for one', async () => {
    const { stored, ask } = setUp()
    const odd = ['', 'null', '1', '{}', '[]', '{"id":"key_1","tenant":7,"plan":"growth"}']
    for (const [index, value] of odd.entries()) {
      stored.set(await hashOf(keyOf(index)), value)
      expect(await ask(keyOf(index)), `for ${value}`).toBe(401)
    }
  })

  it('knows the key and the plan of a request, and keeps the key itself out of it', async () => {
    const { stored, verify } = setUp()
    stored.set(await hashOf(keyOf(1)), JSON.stringify(RECORD))
    const subject = { tenant: 'acme', plan: 'growth', key: 'key_1' }
    expect(await verify(requestOf(keyOf(1)))).toEqual(subject)
    const headers = { 'x-api-key': keyOf(1) }
    expect(await verify(new Request('http://gateway.example', { headers }))).toEqual(subject)
  })

  it('knows the team and the user of a key, and the run that a client names', async () => {
    const { stored, verify } = setUp()
    const member = { ...RECORD, team: 'search', user: 'u_17' }
    stored.set(await hashOf(keyOf(1)), JSON.stringify(member))
    const request = (run: string) =>
      new Request('http://gateway.example', {
        headers: { 'x-api-key': keyOf(1), 'x-agent-run': run },
      })
    expect(await verify(request('run_7'))).toEqual({
      tenant: 'acme',
      team: 'search',
      user: 'u_17',
      plan: 'growth',
      key: 'key_1',
      run: 'run_7',
    })
    expect(await verify(request('a run'))).toMatchObject({ options: { status: 400 } })
  })
})

describe('a key, in workerd', () => {
  let stack: GatewayStack
  let { keys, provider } = {} as Pick<GatewayStack, 'keys' | 'provider'>
  beforeAll(async () => {
    stack = await startGatewayStack()
    ;({ keys, provider } = stack)
  })
  afterAll(() => stack[Symbol.asyncDispose]())

  const models = (key: string): Promise<Response> =>
    fetch(`${stack.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })

  it('is 401 if nobody has it, with one command to Redis however often it is tried', async () => {
    const wrong = `sk-${'x'.repeat(43)}`
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
    expect([provider.requests.length, keys.store.requests - 1]).toEqual(before)
  })

  it('is not looked up if it has another form, or is missing', async () => {
    const before = keys.store.requests
    for (const headers of [
      {},
      { authorization: 'Bearer sk-short' },
      { authorization: `Basic sk-${'y'.repeat(43)}` },
      { 'x-api-key': `sk-${'y'.repeat(42)}*` },
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

  it('stops working within 5 seconds after it is revoked', async () => {
    const { key, id } = await keys.create()
    let lastAcceptedAt = 0
    const status = async (): Promise<number> => {
      const sentAt = Date.now()
      const answer = await models(key)
      if (answer.status === 200) lastAcceptedAt = sentAt
      return answer.status
    }
    expect(await status()).toBe(200)
    await keys.run('revoke', id)
    const revokedAt = Date.now()
    await expect.poll(status, { timeout: 30_000, interval: 50 }).toBe(401)
    expect(lastAcceptedAt - revokedAt).toBeLessThan(5_000)
    expect((await post(`${stack.url}/v1/messages`, message, { 'x-api-key': key })).status).toBe(401)
  })

  it('is 503 while Redis is down, unless it has just been verified', async () => {
    const verified = await keys.create()
    const unverified = await keys.create()
    expect((await models(verified.key)).status).toBe(200)
    await keys.store.down()
    try {
      expect((await models(verified.key)).status).toBe(200)
      const unknown = await models(unverified.key)
      expect(unknown.status).toBe(503)
      expect(await unknown.json()).toMatchObject({ error: { code: 'keys_unavailable' } })
      // The budget is in Redis, too.
      const call = await post(stack.url + '/v1/messages', message, { 'x-api-key': verified.key })
      expect(call.status).toBe(503)
    } finally {
      await keys.store.up()
    }
    expect((await models(unverified.key)).status).toBe(200)
  })
})
