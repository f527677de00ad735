import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { definePrices, limitedModel, type LimitedModelOptions } from '@sluice/ai'
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { describe, expect, it } from 'vitest'
import { limiterOf, PRICES, used } from '../doors.ts'
import { recorder, type Body } from './recorder.ts'

/** Each version of the AI SDK with the providers of its time. */
const VERSIONS = {
  'ai 5': { sdk: ai5, openai: createOpenAI5, anthropic: createAnthropic5 },
  'ai 6': { sdk: ai6, openai: createOpenAI6, anthropic: createAnthropic6 },
  'ai 7': { sdk: ai7, openai: createOpenAI, anthropic: createAnthropic },
} as const

/** Options that cost more than the tokens that are counted, or that hide tokens. */
const COSTLY: Readonly<Record<string, Body>> = {
  openai: {
    serviceTier: 'priority',
    maxCompletionTokens: 100_000,
    prediction: { type: 'content', content: 'x' },
    reasoningMode: 'pro',
    contextManagement: [{ type: 'compaction', compactThreshold: 1_000 }],
    promptCacheOptions: { ttl: '12h' },
  },
  anthropic: {
    speed: 'fast',
    serviceTier: 'auto',
    inferenceGeo: 'us',
    fallbacks: 'default',
    mcpServers: [{ type: 'url', name: 'a', url: 'https://mcp.test' }],
    container: { id: 'container_1' },
    contextManagement: { edits: [{ type: 'compact_20260112' }] },
    anthropicBeta: ['context-1m-2025-08-07'],
  },
  provider: { max_tokens: 100_000, n: 8, models: ['gpt-4o'], plugins: [{ id: 'web' }] },
  gateway: { models: ['gpt-4o'], order: ['azure'] },
}

/** Options that cost nothing beside the tokens that are counted. */
const FREE: Readonly<Record<string, Body>> = {
  openai: {
    logitBias: { '50256': -100 },
    logprobs: true,
    metadata: { job: 'a' },
    parallelToolCalls: false,
    promptCacheKey: 'a',
    promptCacheOptions: { mode: 'explicit', ttl: '30m' },
    promptCacheRetention: '24h',
    reasoningEffort: 'low',
    safetyIdentifier: 'a',
    serviceTier: 'default',
    store: false,
    strictJsonSchema: true,
    systemMessageMode: 'system',
    textVerbosity: 'low',
    user: 'a',
  },
  anthropic: {
    cacheControl: { type: 'ephemeral' },
    disableParallelToolUse: true,
    effort: 'low',
    mcpServers: [],
    metadata: { userId: 'a' },
    sendReasoning: false,
    serviceTier: 'standard_only',
    contextManagement: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    thread: { type: 'create' },
    speed: 'standard',
    structuredOutputMode: 'auto',
    thinking: { type: 'adaptive' },
    toolStreaming: true,
  },
}

/** Input that is written to a cache costs 1.25 times as much, and twice as much for an hour. */
const CACHED = definePrices({
  'claude-opus-4-5': {
    input: 1_000_000_000,
    cacheWrite: 1_250_000_000,
    longCacheWrite: 2_000_000_000,
    output: 10_000_000,
  },
})

const cellsOf = (table: Readonly<Record<string, Body>>): [string, string, unknown][] =>
  Object.entries(table).flatMap(([vendor, options]) =>
    Object.entries(options).map(([name, value]): [string, string, unknown] => [
      vendor,
      name,
      value,
    ]),
  )

describe.each(Object.entries(VERSIONS))('a limited model of %s', (_, { sdk, ...providers }) => {
  const generate = sdk.generateText as (options: object) => Promise<{ text: string }>

  function setUp(vendor: string, options: Partial<LimitedModelOptions> = {}) {
    const { bodies, fetch, whenSent } = recorder()
    const limiter = limiterOf()
    const settings = { apiKey: 'none', fetch }
    const inner =
      vendor === 'anthropic'
        ? providers.anthropic(settings)('claude-opus-4-5')
        : providers.openai(settings).chat('gpt-4o')
    const model = limitedModel(inner, limiter, {
      subject: { tenant: 'acme' },
      prices: PRICES,
      ...options,
    })
    return { bodies, limiter, model, whenSent }
  }

  it.each(cellsOf(COSTLY))('refuses providerOptions.%s.%s', async (vendor, name, value) => {
    const { bodies, limiter, model } = setUp(vendor)
    const providerOptions = { [vendor]: { [name]: value } }
    await expect(generate({ model, prompt: 'Why?', providerOptions })).rejects.toThrow(
      `limitedModel.providerOptions.${vendor}.${name}: `,
    )
    expect(bodies).toEqual([])
    expect(await used(limiter, 'budget.daily')).toBe(0)
  })

  it.each(cellsOf(FREE))('passes providerOptions.%s.%s on', async (vendor, name, value) => {
    const { bodies, limiter, model } = setUp(vendor)
    const providerOptions = { [vendor]: { [name]: value } }
    const { text } = await generate({ model, prompt: 'Why?', providerOptions })
    expect(text).toBe('Because.')
    expect(bodies).toHaveLength(1)
    expect(await used(limiter, 'budget.daily')).toBe(20 + 10 * 10)
  })

  it('passes on what allowFields names, by the name of the option or of the field', async () => {
    for (const allowed of ['serviceTier', 'service_tier']) {
      const { bodies, model } = setUp('openai', { allowFields: [allowed] })
      const providerOptions = { openai: { serviceTier: 'flex' } }
      await generate({ model, prompt: 'Why?', providerOptions })
      expect(bodies).toHaveLength(1)
    }
  })

  it('never lets an option overwrite the maximum', async () => {
    const { model } = setUp('openai', { allowFields: ['maxCompletionTokens'] })
    const providerOptions = { openai: { maxCompletionTokens: 100_000 } }
    await expect(generate({ model, prompt: 'Why?', providerOptions })).rejects.toThrow(
      'use the option of the AI SDK, such as maxOutputTokens',
    )
  })

  it.each([
    [{ type: 'enabled', budgetTokens: 10_000 }, 10_000],
    [{ type: 'enabled' }, 1_024],
    [{ type: 'adaptive' }, 0],
  ])('sends the maximum that it has reserved with the thinking %j', async (thinking, budget) => {
    const { bodies, model } = setUp('anthropic', { maxOutput: 500 })
    await generate({ model, prompt: 'Why?', providerOptions: { anthropic: { thinking } } })
    expect(bodies[0]?.['max_tokens']).toBe(500 + budget)
  })

  it('reserves the price of input that is cached for an hour', async () => {
    const held: number[] = []
    for (const ttl of ['5m', '1h']) {
      const { limiter, model, whenSent } = setUp('anthropic', { prices: CACHED, maxOutput: 1 })
      whenSent(async () => held.push(await used(limiter, 'budget.daily')))
      const cacheControl = { type: 'ephemeral', ttl }
      const part = { type: 'text', text: 'Why?', providerOptions: { anthropic: { cacheControl } } }
      await generate({ model, messages: [{ role: 'user', content: [part] }] })
    }
    const [short = 0, long = 0] = held
    // All but the one token of output.
    expect((long - 10) / (short - 10)).toBeCloseTo(1.6, 1)
  })
})

it('refuses options that an OpenAI-compatible provider would write into the body', async () => {
  const { bodies, fetch } = recorder()
  const inner = createOpenAICompatible({ name: 'provider', baseURL: 'https://a.test/v1', fetch })
  const limiter = limiterOf()
  const model = limitedModel(inner('gpt-4o'), limiter, {
    subject: { tenant: 'acme' },
    prices: PRICES,
  })
  for (const options of [{ max_tokens: 100_000 }, { n: 8 }, { stream_options: {} }]) {
    const providerOptions = { provider: options }
    await expect(ai7.generateText({ model, prompt: 'Why?', providerOptions })).rejects.toThrow(
      'would overwrite what the call was counted by',
    )
  }
  expect(bodies).toEqual([])
})

const reasoned = async (name: string, reasoning: string) => {
  const { bodies, fetch } = recorder()
  const prices = definePrices({ [name]: { input: 1_000_000, output: 10_000_000 } })
  const inner = createAnthropic({ apiKey: 'none', fetch })(name)
  const options = { subject: { tenant: 'acme' }, prices, maxOutput: 2_000 }
  const model = limitedModel(inner, limiterOf(), options)
  const call = { model, prompt: 'Why?', reasoning } as never
  return { bodies, answer: await ai7.generateText(call).catch(String) }
}

describe('a reasoning of the AI SDK', () => {
  const LEVELS = ['minimal', 'low', 'medium', 'high', 'xhigh']

  it.each(LEVELS)('is refused where it becomes a budget beside the maximum: %s', async (level) => {
    for (const name of ['claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5']) {
      const { bodies, answer } = await reasoned(name, level)
      expect(answer).toContain('limitedModel.reasoning: ')
      expect(bodies).toEqual([])
    }
  })

  it.each(LEVELS)('passes where it becomes an effort within the maximum: %s', async (level) => {
    for (const name of ['opus-5', 'sonnet-5', 'opus-5-5', 'sonnet-5-5', 'haiku-5-5', 'fable-5']) {
      const { bodies } = await reasoned(`claude-${name}`, level)
      expect(bodies).toMatchObject([
        { max_tokens: 2_000, thinking: { type: 'adaptive' }, output_config: {} },
      ])
      expect(JSON.stringify(bodies)).not.toContain('budget_tokens')
    }
  })
})
