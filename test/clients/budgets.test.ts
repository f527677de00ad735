import Anthropic, { RateLimitError as AnthropicRateLimitError } from '@anthropic-ai/sdk'
import { concurrency, slidingWindow, tokenBucket } from '@sluice/core'
import type { DenialFormat } from '@sluice/core/http'
import { budget, usd } from '@sluice/ai'
import OpenAI, { RateLimitError as OpenAIRateLimitError } from 'openai'
import { describe, expect, it } from 'vitest'
import type { Provider } from './provider.ts'
import { startReserving, type ReservingOptions } from './reserving-provider.ts'

const apiKey = 'no-key-is-needed'
const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }]

interface Client {
  readonly ask: (url: string) => Promise<unknown>
  readonly rateLimitError: new (...args: never) => Error
}

/** The official clients as they come: each retries twice by itself. */
const CLIENTS: Readonly<Record<string, Client>> = {
  openai: {
    ask: async (url) => {
      const client = new OpenAI({ apiKey, baseURL: `${url}/v1` })
      const { choices } = await client.chat.completions.create({ model: 'model', messages })
      return choices[0]?.message.content
    },
    rateLimitError: OpenAIRateLimitError,
  },
  '@anthropic-ai/sdk': {
    ask: async (url) => {
      const client = new Anthropic({ apiKey, baseURL: url })
      const { content } = await client.messages.create({ model: 'model', max_tokens: 9, messages })
      return content[0]?.type === 'text' ? content[0].text : undefined
    },
    rateLimitError: AnthropicRateLimitError,
  },
}

const per = ['tenant'] as const
const noon = new Date().setUTCHours(12, 0, 0, 0)
// Midnight must not come while a test runs.
const clock = (): number => noon

const SPENT: Readonly<Record<string, Omit<ReservingOptions, 'format'>>> = {
  'a spent daily budget': {
    policies: [budget({ daily: usd(0.01), per })],
    cost: { usd: usd(0.006) },
    isSpent: true,
    clock,
  },
  'a spent monthly budget': {
    policies: [budget({ daily: usd(1), monthly: usd(0.01), per })],
    cost: { usd: usd(0.006) },
    isSpent: true,
    clock,
  },
  'a spent budget beside a spent minute': {
    policies: [
      budget({ daily: usd(0.01), per }),
      slidingWindow({ name: 'tpm', limit: 100, window: '1m', per, unit: 'token' }),
    ],
    cost: { usd: usd(0.01), token: 60 },
    isSpent: true,
    clock,
  },
}

const FORMATS: readonly DenialFormat[] = ['default', 'nested', 'problem', 'openai']
const each = (formats: readonly DenialFormat[]) =>
  formats.flatMap((format) => Object.keys(CLIENTS).map((name) => ({ name, format })))

describe.each(Object.entries(SPENT))('%s', (_, options) => {
  it.each(each(FORMATS))('is an error at once to $name in the $format format', async (client) => {
    const { ask, rateLimitError } = CLIENTS[client.name] as Client
    await using provider = await startReserving({ ...options, format: client.format })
    const startedAt = performance.now()
    await expect(ask(provider.url)).rejects.toBeInstanceOf(rateLimitError)
    // It did not wait for the window, which takes a minute.
    expect(performance.now() - startedAt).toBeLessThan(20_000)
    expect(provider.attempts.map(({ status }) => status)).toEqual([429])
    expect(provider.attempts[0]?.headers.get('x-should-retry')).toBe('false')
  })
})

it('tells openai that the quota is used up, like the API itself', async () => {
  const options = SPENT['a spent daily budget'] as ReservingOptions
  await using provider = await startReserving({ ...options, format: 'openai' })
  const wanted = { status: 429, code: 'insufficient_quota', type: 'insufficient_quota' }
  await expect(CLIENTS['openai']?.ask(provider.url)).rejects.toMatchObject(wanted)
})

const SHORT: Readonly<Record<string, Omit<ReservingOptions, 'format'>>> = {
  'a window of tokens': {
    policies: [slidingWindow({ name: 'tpm', limit: 100, window: '300ms', per, unit: 'token' })],
    cost: { token: 60 },
  },
  'a bucket of tokens': {
    policies: [tokenBucket({ name: 'tokens', limit: 100, window: '600ms', per, unit: 'token' })],
    cost: { token: 60 },
  },
  'a budget that a call in flight holds': {
    policies: [budget({ daily: usd(0.01), per })],
    cost: { usd: usd(0.006) },
    // It has used nothing, and returns all.
    onDenied: (before) => before.settle({ usd: 0 }),
    clock,
  },
  'a slot of a call in flight': {
    policies: [concurrency({ name: 'in-flight', limit: 1, per })],
    cost: { request: 1 },
    // The other call ends while the client waits.
    onDenied: (before) => before.settle({}),
  },
}

describe.each(Object.entries(SHORT))('%s', (_, options) => {
  it.each(each(['default', 'openai']))(
    'is waited out by $name in the $format format',
    async (client) => {
      await using provider = await startReserving({ ...options, format: client.format })
      expect(await CLIENTS[client.name]?.ask(provider.url)).toBe('blue')
      expectOneWait(provider)
    },
  )
})

function expectOneWait({ attempts }: Provider): void {
  const [denied, retried, ...others] = attempts
  expect([denied?.status, retried?.status, others]).toEqual([429, 200, []])
  const retryAfterMs = Number(denied?.headers.get('retry-after-ms'))
  expect(retryAfterMs).toBeGreaterThan(0)
  expect(denied?.headers.has('x-should-retry')).toBe(false)
  // A timer of Node.js may fire up to a millisecond early.
  const waited = (retried?.at ?? 0) - (denied?.answeredAt ?? 0)
  expect(waited).toBeGreaterThanOrEqual(retryAfterMs - 1)
}
