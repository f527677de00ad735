import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { estimateTokens, meterModel, usageOfAiSdk, type Usage } from '@sluice/ai'
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
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { startProvider, WISHES } from '../provider.ts'
import { SAID, TEXTS } from '../recordings.ts'

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
  it('settles the usage of generateText and changes nothing in its result', async () => {
    const plain = await generateText({ model: gpt(), prompt: 'Why?' })
    const { text, usage } = await generateText({ model: metered(gpt()), prompt: 'Why?' })
    expect([text, usage]).toEqual([plain.text, plain.usage])
    expect(usages).toMatchObject([FROM_OPENAI])
  })

  it('settles the usage of streamText and changes nothing in its stream', async () => {
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

  it('settles nothing when the provider rejects a call', async () => {
    const model = metered(gpt())
    const call = generateText({ model, prompt: WISHES.fail, maxRetries: 0 })
    await expect(call).rejects.toBeInstanceOf(APICallError)
    expect(usages).toMatchObject([{ input: 0, output: 0, complete: true }])
  })

  it('settles the known input when a call breaks off', async () => {
    const broken = new MockLanguageModelV4({
      modelId: 'm',
      doGenerate: () => Promise.reject(new Error('reset')),
      doStream: () => Promise.reject(new Error('reset')),
    })
    const call = generateText({ model: metered(broken), prompt: 'Why?', maxRetries: 0 })
    await expect(call).rejects.toThrow('reset')
    expect(usages).toMatchObject([{ model: 'm', input: 77, output: 0, complete: false }])
  })

  it('counts the text of a stream that is aborted', async () => {
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

  it('counts text that a provider does not report usage for', async () => {
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
    const counted = { input: 77, output: estimateTokens(SAID), source: 'counted', complete: false }
    expect(usages).toMatchObject([{ ...counted, model: 'm-1' }, counted])
  })
})

describe('the usage of the AI SDK', () => {
  it('is read from a result and from the final event', async () => {
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

  it('adds up all steps of a stream', async () => {
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
})

describe('a mistake is an error that names the option', () => {
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
