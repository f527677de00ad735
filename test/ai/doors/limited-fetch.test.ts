import Anthropic from '@anthropic-ai/sdk'
import { limitedFetch, usd, type FetchLike, type LimitedFetchOptions } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { limiterOf, limiterWith, PRICES, used } from '../doors.ts'
import { serve, startProvider, WISHES, type Server } from '../provider.ts'
import * as recorded from '../recordings.ts'

const apiKey = 'no-key-is-needed'
const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }]
const model = 'gpt-4o'
const CLAUDE = 'claude-opus-4-5'

let provider: Server
beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider[Symbol.asyncDispose]())

/** The official clients, with a limited `fetch` and a count of what they send. */
function clients(
  options: Partial<LimitedFetchOptions> = {},
  url: string = provider.url,
  limiter: Limiter = limiterOf(),
) {
  const settled = vi.fn<() => void>()
  const send = vi.fn<FetchLike>((input, init) => fetch(input, init))
  const limited = limitedFetch(limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
    onUsage: settled,
    fetch: send,
    ...options,
  })
  const asked = vi.fn<FetchLike>(limited)
  return {
    limiter,
    asked,
    settled,
    send,
    openai: new OpenAI({ apiKey, baseURL: `${url}/v1`, fetch: asked }),
    anthropic: new Anthropic({ apiKey, baseURL: url, fetch: asked }),
  }
}

describe('a limited fetch', () => {
  it('gives the openai client the same answers, and settles what they used', async () => {
    const { openai, limiter, settled } = clients()
    const completion = await openai.chat.completions.create({ model, messages })
    expect(completion).toMatchObject(recorded.CHAT_JSON)
    await expect.poll(() => settled).toHaveBeenCalledTimes(1)
    expect(await used(limiter, 'budget.daily')).toBe(1_204 + 3_100)

    const stream = await openai.chat.completions.create({ model, messages, stream: true })
    let text = ''
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? ''
    expect(text).toBe(recorded.TEXTS.join(''))
    await expect.poll(() => settled).toHaveBeenCalledTimes(2)
    expect(await used(limiter, 'budget.daily')).toBe(2 * (1_204 + 3_100))
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('gives the Anthropic client the same answers, and settles what they used', async () => {
    const { anthropic, limiter, settled } = clients()
    const body = { model: CLAUDE, max_tokens: 400, messages }
    expect(await anthropic.messages.create(body)).toMatchObject(recorded.MESSAGES_JSON)
    const final = await anthropic.messages.stream(body).finalMessage()
    expect(final.usage.output_tokens).toBe(310)
    await expect.poll(() => settled).toHaveBeenCalledTimes(2)
    expect(await used(limiter, 'rpm')).toBe(2)
    expect(await used(limiter, 'tpm')).toBe(2 * 1_514)
  })

  it.each([
    ['openai', 'openai'],
    ['Anthropic', 'anthropic'],
  ] as const)('stops the %s client at a spent budget: one request, no retry', async (_, name) => {
    const { asked, send, [name]: client } = clients({ maxOutput: 1_000_000, minOutput: 200_000 })
    const call =
      client instanceof OpenAI
        ? client.chat.completions.create({ model, messages, max_tokens: 200_000 })
        : client.messages.create({ model: CLAUDE, messages, max_tokens: 200_000, stream: true })
    await expect(call).rejects.toMatchObject({ status: 429 })
    expect(send).not.toHaveBeenCalled()
    expect(asked).toHaveBeenCalledOnce()
  })

  it('stops an agent at its budget, which it never exceeds', async () => {
    const limiter = limiterWith(usd(0.1))
    const { openai, asked, settled } = clients({}, provider.url, limiter)
    const run = async (): Promise<void> => {
      for (let step = 1; step <= 30; step += 1) {
        await openai.chat.completions.create({ model, messages, max_tokens: 1_000 })
        await expect.poll(() => settled).toHaveBeenCalledTimes(step)
      }
    }
    await expect(run()).rejects.toMatchObject({ status: 429 })
    // Each step has used 4,304 micro-dollars, and the next may use 10,000.
    const steps = settled.mock.calls.length
    expect(await used(limiter, 'budget.daily')).toBe(steps * 4_304)
    expect(steps).toBe(21)
    expect(asked).toHaveBeenCalledTimes(steps + 1)
  })

  it('passes what is named unchanged', async () => {
    const seen: [string, string][] = []
    await using server = await serve(async (request) => {
      const { pathname } = new URL(request.url)
      seen.push([`${request.method} ${pathname}`, await request.text()])
      return Response.json({ data: [], object: 'list' })
    })
    const passThrough = ['POST /v1/images/*', 'POST /v1/threads/*']
    const { openai, limiter } = clients({ passThrough }, server.url)
    await openai.models.list()
    await openai.images.generate({ prompt: 'a sky', model: 'x' })
    await openai.post('/threads/thread_1/messages', { body: { role: 'user', content: 'x' } })
    expect(seen.map(([line]) => line)).toEqual([
      'GET /v1/models',
      'POST /v1/images/generations',
      'POST /v1/threads/thread_1/messages',
    ])
    expect(seen[1]?.[1]).toContain('a sky')
    expect(await used(limiter, 'rpm')).toBe(0)
  })

  it('reads a body in any form that fetch takes', async () => {
    const { limiter } = clients()
    const bodies: unknown[] = []
    const limited = limitedFetch(limiter, {
      subject: () => ({ tenant: 'acme' }),
      prices: PRICES,
      fetch: async (_, init) => {
        bodies.push(JSON.parse(init?.body as string))
        return Response.json(recorded.CHAT_JSON)
      },
    })
    const url = 'https://provider.example/v1/chat/completions'
    const text = JSON.stringify({ model, messages })
    const forms = [text, new TextEncoder().encode(text), new Blob([text])]
    for (const body of forms) await (await limited(url, { method: 'POST', body })).text()
    await (await limited(new Request(url, { method: 'POST', body: text }))).text()
    await (await limited(new URL(url), { method: 'post', body: text })).text()
    expect(bodies).toHaveLength(5)
    expect(bodies).toEqual(bodies.map(() => ({ model, messages, max_completion_tokens: 16_384 })))
  })

  it('lets what the provider throws reach the client, and keeps the estimate', async () => {
    const { limiter } = clients()
    const limited = limitedFetch(limiter, {
      subject: { tenant: 'acme' },
      prices: PRICES,
      fetch: () => Promise.reject(new TypeError('fetch failed')),
    })
    const init = { method: 'POST', body: JSON.stringify({ model, messages, max_tokens: 1_000 }) }
    await expect(limited('https://provider.example/v1/chat/completions', init)).rejects.toThrow(
      'fetch failed',
    )
    await expect.poll(() => used(limiter, 'in-flight')).toBe(0)
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
  })

  it('forwards the abort of a client, and keeps the estimate of what it gave up', async () => {
    const { openai, limiter, settled } = clients()
    const stream = await openai.chat.completions.create({
      model,
      messages: [{ role: 'user', content: WISHES.stall }],
      stream: true,
      max_tokens: 1_000,
    })
    for await (const _ of stream) break
    stream.controller.abort()
    await expect.poll(() => settled).toHaveBeenCalledOnce()
    expect(await used(limiter, 'budget.daily')).toBeGreaterThan(10_000)
    expect(await used(limiter, 'in-flight')).toBe(0)
  })

  it('gives back what a provider refused', async () => {
    const { openai, limiter } = clients()
    const content = WISHES.fail
    const call = openai.chat.completions.create({ model, messages: [{ role: 'user', content }] })
    await expect(call).rejects.toMatchObject({ status: 400 })
    await expect.poll(() => used(limiter, 'budget.daily')).toBe(0)
  })
})
