import { once } from 'node:events'
import { createServer } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import { createLimiter, dailyCap, manualClock, slidingWindow, type Policy } from '@sluice/core'
import { retryingFetch, type RetryEvent } from '@sluice/core/client'
import { rateLimit, type DenialFormat, type HeaderStyle } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import express from 'express'
import { rateLimit as expressRateLimit } from 'express-rate-limit'
import OpenAI, { RateLimitError } from 'openai'
import { describe, expect, it } from 'vitest'
import { addressOf } from '../e2e/support/ports.ts'
import { COMPLETION, MESSAGE, serveProvider, type Provider } from './provider.ts'

const NOON = Date.UTC(2031, 5, 1, 12)
const rpm = slidingWindow({ name: 'rpm', limit: 1, window: '20s', per: ['tenant'] })
const daily = dailyCap({ name: 'daily', limit: 1, per: ['tenant'] })

interface Server {
  readonly provider: Provider
  /** A client whose waits pass by the server's clock. */
  readonly fetch: ReturnType<typeof retryingFetch>
  readonly retries: RetryEvent[]
}

/** Starts a real server with a limit of one request, which is used up. */
async function startServer(
  policy: Policy,
  headers: HeaderStyle[] | false,
  format: DenialFormat = 'default',
): Promise<Server> {
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store: memory(), clock, policies: [policy] })
  const options = { routes: ['/v1/**'], subject: () => ({ tenant: 'acme' }), headers, format }
  const answer = rateLimit(limiter, options, ({ url }) =>
    Response.json(url.endsWith('/messages') ? MESSAGE : COMPLETION),
  )
  await limiter.check({ tenant: 'acme', route: '/v1/**' })
  const provider = await serveProvider((path) =>
    answer(new Request(`http://provider.example${path}`, { method: 'POST' })),
  )
  const retries: RetryEvent[] = []
  const fetch = retryingFetch({
    clock,
    random: () => 0,
    sleep: async (ms) => clock.advance(ms),
    onRetry: (event) => retries.push(event),
  })
  return { provider, fetch, retries }
}

const STYLES: readonly HeaderStyle[][] = [
  ['x-ratelimit'],
  ['draft'],
  ['openai'],
  ['x-ratelimit', 'draft', 'openai'],
  [],
]
const post = { method: 'POST', body: '{}' }

describe.each(STYLES)('a 429 of ours with the headers %s %s %s', (...styles) => {
  it('is waited out to the millisecond, once', async () => {
    const { provider, fetch, retries } = await startServer(rpm, styles)
    await using _ = provider
    const response = await fetch(`${provider.url}/v1/chat/completions`, post)
    expect(response.status).toBe(200)
    expect(retries.map(({ waitMs }) => waitMs)).toEqual([20_000])
    expect(provider.attempts.map(({ status }) => status)).toEqual([429, 200])
  })

  it('of a daily cap comes back at once', async () => {
    const { provider, fetch, retries } = await startServer(daily, styles)
    await using _ = provider
    const response = await fetch(`${provider.url}/v1/chat/completions`, post)
    expect(await response.json()).toMatchObject({ error: 'daily_quota_exceeded' })
    expect([provider.attempts.length, retries]).toEqual([1, []])
  })
})

it('a 429 of ours without headers is tried again after a second, and two', async () => {
  const { provider, fetch, retries } = await startServer(rpm, false)
  await using _ = provider
  expect((await fetch(`${provider.url}/v1/messages`, post)).status).toBe(429)
  expect(retries.map(({ waitMs }) => waitMs)).toEqual([1_000, 2_000])
})

describe.each<DenialFormat>(['default', 'openai'])('a client with %s denials', (format) => {
  const apiKey = 'no-key-is-needed'
  const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }]
  const complete = ({ provider, fetch }: Server) =>
    new OpenAI({ apiKey, baseURL: `${provider.url}/v1`, fetch, maxRetries: 0 }).chat.completions
      .create({ model: 'model', messages })
      .then(({ choices }) => choices[0]?.message.content)
  const message = ({ provider, fetch }: Server) =>
    new Anthropic({ apiKey, baseURL: provider.url, fetch, maxRetries: 0 }).messages
      .create({ model: 'model', max_tokens: 9, messages })
      .then(({ content }) => (content[0]?.type === 'text' ? content[0].text : undefined))

  it.each(Object.entries({ openai: complete, '@anthropic-ai/sdk': message }))(
    '%s gets its answer after one wait',
    async (_, ask) => {
      const server = await startServer(rpm, ['draft'], format)
      await using provider = server.provider
      expect(await ask(server)).toBe('blue')
      expect(provider.attempts.map(({ status }) => status)).toEqual([429, 200])
    },
  )

  it('openai gets the error of a daily cap after one request', async () => {
    const server = await startServer(daily, ['draft'], format)
    await using provider = server.provider
    await expect(complete(server)).rejects.toThrow(RateLimitError)
    expect(provider.attempts).toHaveLength(1)
  })
})

describe.each(['draft-6', 'draft-7', 'draft-8', false] as const)(
  'a 429 of express-rate-limit with the headers %s',
  (standardHeaders) => {
    it('is waited out', async () => {
      const limit = expressRateLimit({
        windowMs: 30_000,
        limit: 1,
        standardHeaders,
        keyGenerator: () => 'all',
      })
      const app = express().use(limit, (_, response) => void response.send('done'))
      const server = createServer((request, response) => void app(request, response))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const url = `http://127.0.0.1:${addressOf(server).port}/`
      const waits: number[] = []
      const send = retryingFetch({
        random: () => 0,
        async sleep(ms) {
          waits.push(ms)
          limit.resetKey('all')
        },
      })
      expect(await (await send(url, post)).text()).toBe('done')
      expect(waits).toEqual([])
      expect(await (await send(url, post)).text()).toBe('done')
      expect(waits).toHaveLength(1)
      // It rounds what is left of its window up.
      expect(waits[0]).toBeGreaterThan(20_000)
      expect(waits[0]).toBeLessThanOrEqual(30_000)
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    })
  },
)
