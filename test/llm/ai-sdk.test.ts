import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { estimateTokens, meterModel, usageOfAiSdk, type Usage } from '@sluice/core/llm'
import {
  APICallError,
  generateText,
  stepCountIs as isStepCount,
  streamText,
  tool,
  wrapLanguageModel,
} from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../support/mistakes.ts'
import { startProvider, WISHES } from './provider.ts'
import { SAID, TEXTS } from './recordings.ts'

let provider: Awaited<ReturnType<typeof startProvider>>
let usages: Usage[] = []
const settle = (usage: Usage): void => void usages.push(usage)

beforeAll(async () => {
  provider = await startProvider()
})
afterAll(() => provider[Symbol.asyncDispose]())
beforeEach(() => {
  usages = []
})

const gpt = () =>
  createOpenAICompatible({
    name: 'provider',
    apiKey: 'none',
    baseURL: `${provider.url}/v1`,
    includeUsage: true,
  })('gpt-4o')

const metered = (model: Parameters<typeof wrapLanguageModel>[0]['model'], inputTokens = 77) =>
  wrapLanguageModel({ model, middleware: meterModel({ settle, inputTokens }) })

const FROM_OPENAI = {
  model: 'gpt-4o-2024-08-06',
  input: 1_204,
  cachedInput: 1_024,
  output: 310,
  source: 'provider',
  complete: true,
}

describe('the middleware', () => {
  it('settles what generateText has used, and changes nothing', async () => {
    const plain = await generateText({ model: gpt(), prompt: 'Why?' })
    const { text, usage } = await generateText({ model: metered(gpt()), prompt: 'Why?' })
    expect([text, usage]).toEqual([plain.text, plain.usage])
    expect(usages).toMatchObject([FROM_OPENAI])
  })

  it('settles what streamText has used, and changes nothing', async () => {
    const parts = async (model: ReturnType<typeof metered>) => {
      const kept = []
      for await (const part of streamText({ model, prompt: 'Why?' }).stream) kept.push(part)
      return kept.filter(({ type }) => type.startsWith('text-') || type === 'finish')
    }
    const plain = await parts(wrapLanguageModel({ model: gpt(), middleware: [] }))
    expect(await parts(metered(gpt()))).toEqual(plain)
    expect(usages).toMatchObject([FROM_OPENAI])
  })

  it('settles each call of a run with tools', async () => {
    const model = metered(gpt())
    const tools = { get_weather: tool({ inputSchema: schema, execute: () => 'rain' }) }
    const stopWhen = isStepCount(2)
    const { steps } = await generateText({ model, prompt: WISHES.tools, tools, stopWhen })
    expect(steps).toHaveLength(2)
    expect(usages).toMatchObject([FROM_OPENAI, FROM_OPENAI])
  })

  it('has used nothing when the provider turns a call away', async () => {
    const model = metered(gpt())
    const asked = generateText({ model, prompt: WISHES.fail, maxRetries: 0 })
    await expect(asked).rejects.toBeInstanceOf(APICallError)
    expect(usages).toMatchObject([{ input: 0, output: 0, complete: true }])
  })

  it('has used its input, as far as known, when a call breaks off', async () => {
    const broken = new MockLanguageModelV4({
      modelId: 'm',
      doGenerate: () => Promise.reject(new Error('reset')),
      doStream: () => Promise.reject(new Error('reset')),
    })
    const asked = generateText({ model: metered(broken), prompt: 'Why?', maxRetries: 0 })
    await expect(asked).rejects.toThrow('reset')
    expect(usages).toMatchObject([{ model: 'm', input: 77, output: 0, complete: false }])
  })

  it('counts a stream that is aborted', async () => {
    const controller = new AbortController()
    const { signal } = controller
    let ended = false
    const { textStream } = streamText({
      model: metered(gpt()),
      prompt: WISHES.stall,
      abortSignal: signal,
      onEnd: () => void (ended = true),
    })
    let text = ''
    for await (const delta of textStream) {
      text += delta
      if (delta === ' is') controller.abort()
    }
    await expect.poll(() => usages).toHaveLength(1)
    expect(usages).toMatchObject([{ input: 77, source: 'counted', complete: false }])
    expect(usages[0]?.output).toBeGreaterThanOrEqual(estimateTokens(text))
    // Which is why onEnd alone is not enough.
    expect(ended).toBe(false)
  })

  it('counts the calls of tools once, whether their input comes in pieces or not', async () => {
    const input = JSON.stringify({ place: 'Utrecht '.repeat(200) })
    const call = { type: 'tool-call' as const, toolCallId: '0', toolName: 'get_weather', input }
    const pieces = [
      { type: 'tool-input-start' as const, id: '0', toolName: 'get_weather' },
      { type: 'tool-input-delta' as const, id: '0', delta: input.slice(0, 800) },
      { type: 'tool-input-delta' as const, id: '0', delta: input.slice(800) },
      { type: 'tool-input-end' as const, id: '0' },
    ]
    const other = { ...call, toolCallId: '1', input: SAID }
    for (const chunks of [[call], [...pieces, call], [...pieces, other, call]]) {
      const model = new MockLanguageModelV4({
        doStream: { stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) },
      })
      const tools = { get_weather: tool({ inputSchema: schema, execute: () => 'rain' }) }
      await streamText({ model: metered(model), prompt: 'Why?', tools }).consumeStream()
    }
    const [once, again, both] = usages.map(({ output }) => output)
    expect([once, again]).toEqual([estimateTokens(input), once])
    expect(both).toBe(estimateTokens(input + SAID))
    expect(usages).toMatchObject([{ source: 'counted' }, {}, {}])
  })

  it('counts what a provider does not tell', async () => {
    const unknown = { total: undefined, noCache: undefined, cacheRead: undefined }
    const none = {
      inputTokens: { ...unknown, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    }
    const chunks = [
      { type: 'stream-start' as const, warnings: [] },
      { type: 'response-metadata' as const, modelId: 'm-1' },
      { type: 'text-start' as const, id: '0' },
      ...TEXTS.map((delta) => ({ type: 'text-delta' as const, id: '0', delta })),
      { type: 'text-end' as const, id: '0' },
      { type: 'finish' as const, usage: none, finishReason: STOP },
    ]
    const model = new MockLanguageModelV4({
      doStream: { stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) },
      doGenerate: {
        content: [{ type: 'text', text: SAID }],
        usage: none,
        finishReason: STOP,
        warnings: [],
      },
    })
    expect(await streamText({ model: metered(model), prompt: 'Why?' }).text).toBe(SAID)
    expect((await generateText({ model: metered(model), prompt: 'Why?' })).text).toBe(SAID)
    const counted = { input: 77, output: estimateTokens(SAID), source: 'counted', complete: true }
    expect(usages).toMatchObject([{ ...counted, model: 'm-1' }, counted])
  })
})

describe('the usage of the AI SDK', () => {
  it('is that of a result, and of the event at the end', async () => {
    const result = await generateText({
      model: gpt(),
      prompt: 'Why?',
      onEnd: (event) => settle(usageOfAiSdk(event)),
    })
    expect(usages).toMatchObject([FROM_OPENAI])
    expect(usageOfAiSdk(result)).toMatchObject(FROM_OPENAI)
    expect(usageOfAiSdk(result.usage)).toMatchObject({ ...FROM_OPENAI, model: undefined })
    expect(usageOfAiSdk(result.usage, { model: 'm' })).toMatchObject({ model: 'm', output: 310 })
  })

  it('is that of all steps, streamed', async () => {
    const tools = { get_weather: tool({ inputSchema: schema, execute: () => 'rain' }) }
    const stopWhen = isStepCount(2)
    const { text } = streamText({
      model: gpt(),
      prompt: WISHES.tools,
      tools,
      stopWhen,
      onEnd: (event) => settle(usageOfAiSdk(event)),
    })
    await text
    expect(usages).toMatchObject([
      { ...FROM_OPENAI, input: 2_408, cachedInput: 2_048, output: 620 },
    ])
  })

  it('is that of version 5, where the event has the usage of its last step as well', () => {
    const usage = { inputTokens: 5, outputTokens: 6, totalTokens: 11, cachedInputTokens: 4 }
    const totalUsage = {
      inputTokens: 50,
      outputTokens: 60,
      totalTokens: 110,
      cachedInputTokens: 40,
    }
    const event = { usage, totalUsage, response: { modelId: 'm' }, text: SAID }
    expect(usageOfAiSdk(event)).toEqual({
      model: 'm',
      input: 50,
      cachedInput: 40,
      cacheWrite: 0,
      longCacheWrite: 0,
      output: 60,
      source: 'provider',
      complete: true,
    })
  })

  it('is that of version 5 with Anthropic, whose cache is beside its input', () => {
    const usage = { inputTokens: 80, outputTokens: 310, totalTokens: 390, cachedInputTokens: 1_024 }
    const raw = {
      input_tokens: 80,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1_024,
      cache_creation: { ephemeral_1h_input_tokens: 60 },
      output_tokens: 310,
    }
    const providerMetadata = { anthropic: { usage: raw, cacheCreationInputTokens: 100 } }
    const told = { cachedInput: 1_024, cacheWrite: 100, output: 310, source: 'provider' }
    const once = usageOfAiSdk({ usage, providerMetadata })
    expect(once).toMatchObject({ ...told, input: 1_204, longCacheWrite: 60 })

    // The same of a cache that is smaller than the input, which the numbers alone cannot tell.
    const small = { inputTokens: 800, outputTokens: 5, totalTokens: 805, cachedInputTokens: 40 }
    const metadata = { anthropic: { cacheCreationInputTokens: null } }
    const steps = [
      { usage, providerMetadata },
      { usage: small, providerMetadata: metadata },
    ]
    const totalUsage = { inputTokens: 880, outputTokens: 315, cachedInputTokens: 1_064 }
    const run = usageOfAiSdk({ usage: small, totalUsage, steps, providerMetadata: metadata })
    expect(run).toMatchObject({ input: 2_044, cachedInput: 1_064, cacheWrite: 100, output: 315 })
    const last = usageOfAiSdk({ usage: small, providerMetadata: metadata })
    expect(last).toMatchObject({ input: 840, cachedInput: 40 })

    // By itself, a usage tells so only by having more in its cache than in its input.
    expect(usageOfAiSdk(usage)).toMatchObject({ input: 1_104, cachedInput: 1_024, cacheWrite: 0 })
    expect(usageOfAiSdk(small)).toMatchObject({ input: 800, cachedInput: 40 })
  })

  it('is that of version 5 with Bedrock, whose cache is beside its input as well', () => {
    const usage = { inputTokens: 3_000, outputTokens: 10, cachedInputTokens: 2_000 }
    const providerMetadata = { bedrock: { usage: { cacheWriteInputTokens: 500 } } }
    expect(usageOfAiSdk({ usage, providerMetadata })).toMatchObject({
      input: 5_500,
      cachedInput: 2_000,
      cacheWrite: 500,
      source: 'provider',
    })
  })

  it('has what all steps of a run wrote to a cache for long', () => {
    const raw = { input_tokens: 9, cache_creation: { ephemeral_1h_input_tokens: 500 } }
    const step = { providerMetadata: { anthropic: { usage: raw } } }
    const inputTokenDetails = { cacheReadTokens: 0, cacheWriteTokens: 1_500 }
    const totalUsage = { inputTokens: 1_527, inputTokenDetails, outputTokens: 9, raw }
    const run = usageOfAiSdk({ totalUsage, steps: [step, step, step] })
    expect(run).toMatchObject({ input: 1_527, cacheWrite: 1_500, longCacheWrite: 1_500 })
  })

  it('is not taken for that of version 5 where it has its details', () => {
    const raw = { input_tokens: 80, cache_read_input_tokens: 1_024, output_tokens: 310 }
    const providerMetadata = { anthropic: { usage: raw, cacheCreationInputTokens: 0 } }
    const inputTokenDetails = { noCacheTokens: 80, cacheReadTokens: 1_024, cacheWriteTokens: 0 }
    const usage = { inputTokens: 1_104, inputTokenDetails, outputTokens: 310 }
    expect(usageOfAiSdk({ usage, providerMetadata })).toMatchObject({
      input: 1_104,
      cachedInput: 1_024,
      cacheWrite: 0,
    })
  })

  it('is counted where the numbers are none', () => {
    const usage = { inputTokens: Number.NaN, outputTokens: Number.NaN }
    expect(usageOfAiSdk({ usage, text: SAID }, { inputTokens: 7 })).toMatchObject({
      input: 7,
      output: estimateTokens(SAID),
      source: 'counted',
    })
  })

  it('has what Anthropic tells about its cache, which only the raw usage does', () => {
    const raw = {
      input_tokens: 80,
      cache_creation_input_tokens: 100,
      cache_read_input_tokens: 1_024,
      cache_creation: { ephemeral_1h_input_tokens: 60 },
      output_tokens: 310,
    }
    const inputTokenDetails = { noCacheTokens: 80, cacheReadTokens: 1_024, cacheWriteTokens: 100 }
    const usage = { inputTokens: 1_204, inputTokenDetails, outputTokens: 310, raw }
    expect(usageOfAiSdk({ usage })).toMatchObject({
      input: 1_204,
      cachedInput: 1_024,
      cacheWrite: 100,
      longCacheWrite: 60,
      output: 310,
    })
  })

  it('is counted from the text of all steps where no numbers are told', () => {
    const usage = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined }
    const steps = [{ text: SAID }, { text: SAID, reasoningText: 'Hm.' }]
    expect(usageOfAiSdk({ usage, steps, text: SAID }, { inputTokens: 7 })).toMatchObject({
      input: 7,
      output: estimateTokens(`${SAID}${SAID}Hm.`),
      source: 'counted',
    })
  })

  it('is counted from the calls of tools, too', () => {
    const usage = { inputTokens: undefined, outputTokens: undefined }
    const toolCalls = [{ toolName: 'search', input: { query: SAID } }, null]
    const { output } = usageOfAiSdk({ usage, steps: [{ text: '', toolCalls }] })
    expect(output).toBeGreaterThanOrEqual(estimateTokens(SAID))
  })

  it.each([undefined, null, 5, 'text', [], {}])('of %j is nothing', (event) => {
    expect(usageOfAiSdk(event)).toMatchObject({ input: 0, output: 0, source: 'counted' })
  })
})

describe('a mistake is an error that names its place', () => {
  const result = { usage: Promise.resolve({ inputTokens: 1, outputTokens: 1 }) }

  const model = loosely(meterModel)
  const usage = loosely((known: never) => usageOfAiSdk({}, known))
  mistakesAreNamed([
    ['no settle', () => model({}), 'meterModel.settle'],
    [
      'unknown',
      () => model({ settle, chargeErrors: true }),
      'meterModel.chargeErrors',
      'unknown_option',
    ],
    ['unknown', () => usage({ settle }), 'usageOfAiSdk.settle', 'unknown_option'],
    ['a result of streamText', () => usageOfAiSdk(result), 'usageOfAiSdk.event'],
    ['its usage', () => usageOfAiSdk(result.usage), 'usageOfAiSdk.event'],
  ])
})

const STOP = { unified: 'stop' as const, raw: 'stop' }
const schema = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
}
