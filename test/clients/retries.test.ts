import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic, { RateLimitError as AnthropicRateLimitError } from '@anthropic-ai/sdk'
import type { DenialFormat } from '@sluice/core/http'
import { generateText } from 'ai'
import ky from 'ky'
import OpenAI, { RateLimitError as OpenAIRateLimitError } from 'openai'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LIMITS, startProvider, type Provider } from './provider.ts'

const apiKey = 'no-key-is-needed'
const question = 'Why is the sky blue?'
const messages = [{ role: 'user' as const, content: question }]

/** Clients as they come, asking once and answering with the text. */
const CLIENTS: Readonly<Record<string, (url: string) => Promise<string | null | undefined>>> = {
  openai: async (url) => {
    const client = new OpenAI({ apiKey, baseURL: `${url}/v1` })
    const completion = await client.chat.completions.create({ model: 'model', messages })
    return completion.choices[0]?.message.content
  },
  '@anthropic-ai/sdk': async (url) => {
    const client = new Anthropic({ apiKey, baseURL: url })
    const { content } = await client.messages.create({ model: 'model', max_tokens: 9, messages })
    return content[0]?.type === 'text' ? content[0].text : undefined
  },
  ai: async (url) => {
    const provider = createOpenAICompatible({ name: 'provider', apiKey, baseURL: `${url}/v1` })
    return (await generateText({ model: provider('model'), prompt: question })).text
  },
  ky: async (url) => {
    // Left to itself it retries no POST.
    const retry = { methods: ['post' as const] }
    const body = ky.post(`${url}/v1/chat/completions`, { json: { messages }, retry })
    const { choices } = await body.json<{ choices: { message: { content: string } }[] }>()
    return choices[0]?.message.content
  },
}

const FORMATS: readonly DenialFormat[] = ['default', 'nested', 'problem', 'openai']

let provider: Provider
afterEach(() => provider[Symbol.asyncDispose]())

describe.each(FORMATS)('a short wait in the %s format', (format) => {
  beforeEach(async () => {
    provider = await startProvider(LIMITS.short, format)
  })

  it.each(Object.entries(CLIENTS))('is waited out by %s', async (_, ask) => {
    expect(await ask(provider.url)).toBe('blue')
    const [denied, retried, ...others] = provider.attempts
    expect([denied?.status, retried?.status, others]).toEqual([429, 200, []])
    const retryAfterMs = Number(denied?.headers.get('retry-after-ms'))
    expect(retryAfterMs).toBeGreaterThan(0)
    // A timer of Node.js may fire up to a millisecond early.
    const waited = (retried?.at ?? 0) - (denied?.answeredAt ?? 0)
    expect(waited).toBeGreaterThanOrEqual(retryAfterMs - 1)
  })
})

describe('a daily cap', () => {
  beforeEach(async () => {
    provider = await startProvider(LIMITS.daily, 'openai')
  })

  it('stops openai after one request, with an error that says why', async () => {
    const error = await CLIENTS['openai']?.(provider.url).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(OpenAIRateLimitError)
    expect(error).toMatchObject({ status: 429, code: 'insufficient_quota' })
    expect(provider.attempts).toHaveLength(1)
  })

  it('stops @anthropic-ai/sdk after one request', async () => {
    const error = await CLIENTS['@anthropic-ai/sdk']?.(provider.url).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(AnthropicRateLimitError)
    expect(provider.attempts).toHaveLength(1)
  })

  it('is retried twice by ai, with waits of its own, as it reads no header against it', async () => {
    await expect(CLIENTS['ai']?.(provider.url)).rejects.toThrow(/after 3 attempts/)
    const [first, second, third, ...others] = provider.attempts
    expect(others).toEqual([])
    expect((second?.at ?? 0) - (first?.answeredAt ?? 0)).toBeGreaterThanOrEqual(1_999)
    expect((third?.at ?? 0) - (second?.answeredAt ?? 0)).toBeGreaterThanOrEqual(1_999)
  })

  it('is slept out by ky, which sends one request until its caller gives up', async () => {
    const retry = { methods: ['post' as const] }
    const signal = AbortSignal.timeout(1_000)
    const pending = ky.post(`${provider.url}/v1/chat/completions`, { retry, signal })
    await expect(pending).rejects.toThrow(/timeout|aborted/)
    expect(provider.attempts).toHaveLength(1)
  })

  it('is an error at once to ky by default, as it retries no POST', async () => {
    const pending = ky.post(`${provider.url}/v1/chat/completions`)
    await expect(pending).rejects.toThrow(/429/)
    expect(provider.attempts).toHaveLength(1)
  })
})
