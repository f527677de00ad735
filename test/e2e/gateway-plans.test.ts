import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CHAT_USAGE } from '../ai/recordings.ts'
import {
  chat,
  clientsOf,
  failureOf,
  message,
  post,
  STACKS,
  startRedisStack,
  type GatewayStack,
} from './support/gateway.ts'
import { redisText } from './support/redis-text.ts'
import { MODELS as NAMED } from '../support/models.ts'

describe.each(STACKS)('a plan, over %s', (_, start) => {
  let stack: GatewayStack
  let { keys, provider } = {} as Pick<GatewayStack, 'keys' | 'provider'>
  beforeAll(async () => {
    stack = await start()
    ;({ keys, provider } = stack)
  })
  afterAll(() => stack[Symbol.asyncDispose]())
  beforeEach(() => provider.reset())

  const usage = { prompt_tokens: 10, completion_tokens: 200_000, total_tokens: 200_010 }

  it('denies what is over its requests, in the words of each provider', async () => {
    const { openai, anthropic } = clientsOf(stack.url, (await keys.create('starter')).key)
    const before = provider.requests.length
    for (let call = 0; call < 20; call += 1) await openai.chat.completions.create(chat)
    expect(await failureOf(openai.chat.completions.create(chat))).toMatchObject({
      status: 429,
      type: 'requests',
      code: 'rate_limit_exceeded',
    })
    expect(await failureOf(anthropic.messages.create(message))).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
    })
    expect(provider.requests.length - before).toBe(20)
  })

  it('denies what is over its dollars, and tells clients not to try again', async () => {
    const { key } = await keys.create('starter')
    const { openai, anthropic } = clientsOf(stack.url, key)
    provider.respond = () => Response.json({ model: NAMED.openai, choices: [], usage })
    await openai.chat.completions.create(chat)
    await expect
      .poll(() => failureOf(openai.chat.completions.create(chat)))
      .toMatchObject({ status: 429, type: 'insufficient_quota', code: 'insufficient_quota' })
    const error = await failureOf(anthropic.messages.create(message))
    expect(error).toMatchObject({ status: 429, type: 'rate_limit_error' })
    expect((error as { headers: Headers }).headers.get('x-should-retry')).toBe('false')
  })

  it('holds the run of an agent to a budget of its own, within that of the tenant', async () => {
    const { key } = await keys.create('starter')
    const spent = { prompt_tokens: 10, completion_tokens: 30_000, total_tokens: 30_010 }
    provider.respond = () => Response.json({ model: NAMED.openai, choices: [], usage: spent })
    const call = async (run: string) => {
      const headers = { 'x-api-key': key, 'x-agent-run': run }
      const answer = await post(`${stack.url}/v1/chat/completions`, chat, headers)
      await answer.text()
      return [answer.status, answer.status === 429 && answer.headers.get('x-ratelimit-scope')]
    }
    expect(await call('first')).toEqual([200, false])
    await expect.poll(() => call('first')).toEqual([429, 'tenant+run'])
    expect(await call('second')).toEqual([200, false])
  })

  it('is charged what a call used, and not what it reserved', async () => {
    const { key } = await keys.create()
    const left = async (): Promise<number> => {
      const body = { ...chat, max_completion_tokens: 8_192 }
      const answer = await post(`${stack.url}/v1/chat/completions`, body, { 'x-api-key': key })
      await answer.text()
      return Number(answer.headers.get('x-ratelimit-remaining-tokens'))
    }
    const first = await left()
    expect(200_000 - first).toBeGreaterThan(8_192)
    let calls = 0
    await expect
      .poll(async () => {
        calls += 1
        return (first - (await left())) / calls
      })
      .toBe(CHAT_USAGE.total_tokens)
  })

  it('counts all keys of a tenant together, and no other tenant', async () => {
    const first = await keys.create('starter')
    const second = await keys.create('starter', first.tenant)
    const other = await keys.create('starter')
    provider.respond = () => Response.json({ model: NAMED.openai, choices: [], usage })
    await clientsOf(stack.url, first.key).openai.chat.completions.create(chat)
    const call = ({ key }: typeof first) =>
      failureOf(clientsOf(stack.url, key).openai.chat.completions.create(chat))
    await expect.poll(() => call(second)).toMatchObject({ status: 429 })
    expect(await call(other)).toEqual({})
  })

  it('lets a call cost no more than its tokens', async () => {
    const { key } = await keys.create()
    const before = provider.requests.length
    for (const [path, body] of [
      ['/v1/chat/completions', { ...chat, service_tier: 'priority' }],
      ['/v1/responses', { model: NAMED.openai, input: 'Why?', background: true }],
      ['/v1/messages', { ...message, speed: 'fast' }],
      ['/v1/chat/completions', { ...chat, model: 'gpt-none' }],
      ['/v1/chat/completions', message],
      ['/v1/messages', { ...message, model: NAMED.openai }],
    ] as const) {
      const answer = await post(stack.url + path, body, { 'x-api-key': key })
      expect(answer.status, `${path} with ${JSON.stringify(body)}`).toBe(400)
      expect(await answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
    }
    expect(provider.requests.length).toBe(before)
  })
})

it('a call costs two requests to Redis', async () => {
  await using stack = await startRedisStack()
  const { keys } = stack
  const headers = { 'x-api-key': (await keys.create()).key }
  const call = async () => (await post(`${stack.url}/v1/chat/completions`, chat, headers)).text()
  // The first one looks the key up, and Redis may not have the scripts yet.
  await call()
  // The mark of a reservation says for a minute what it was settled with.
  await expect.poll(() => redisText(keys.store)).not.toMatch(/sluice:hold:\w+","\d/)
  const before = keys.store.requests
  await call()
  await expect.poll(() => keys.store.requests - before).toBe(2)
})
