import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { definePrices, limitedFetch, limitedModel, modelHandler, modelPolicies } from '@sluice/ai'
import { bedrock, gemini } from '@sluice/ai/formats'
import { createLimiter, listen, manualClock, type Limiter, type LimiterEvents } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { generateText, streamText, type LanguageModel } from 'ai'
import { describe, expect, it, vi } from 'vitest'
import { NOON } from '../../support/times.ts'
import { FORMATS, INPUT, openaiChat, QUESTION, type Format, type Json } from './thinking-answers.ts'
import { PATIENTLY } from '../../support/patience.ts'

const price = { input: 1_000_000, output: 10_000_000, maxOutput: 64_000 }
const MODELS = ['gpt-5', 'claude-opus-5', 'gemini-2.5-pro', 'nova-pro']
const MODEL_NAME = new RegExp(`^(${MODELS.join('|')})$`)
const options = {
  prices: definePrices(Object.fromEntries(MODELS.map((name) => [name, price]))),
  formats: [gemini, bedrock],
  maxOutput: 5_000,
}
const subject = { tenant: 'acme', route: 'chat' }

/** A provider whose model thinks up to the maximum, less `spare` tokens. */
function provider({ whole, streamed }: Format, spare: number) {
  return async (_: unknown, init?: RequestInit): Promise<Response> => {
    const sent = JSON.parse(init?.body as string) as Json
    const maximum = ['max_completion_tokens', 'max_output_tokens', 'max_tokens']
      .map((name) => sent[name])
      .find(Boolean)
    const output = Number(maximum) - spare
    if (sent['stream'] !== true) return Response.json(whole(output))
    const body = streamed(output)
    const type =
      typeof body === 'string' ? 'text/event-stream' : 'application/vnd.amazon.eventstream'
    return new Response(body, { headers: { 'content-type': type } })
  }
}

type Call = (limiter: Limiter, streamed: boolean, spare: number) => Promise<unknown>

const post = (name: string, stream: boolean): [url: string, init: RequestInit] => {
  const { path, body } = FORMATS[name] as Format
  const init = { method: 'POST', body: JSON.stringify({ ...body, ...(stream && { stream }) }) }
  return [`https://api.example/${path}`, init]
}

const handled =
  (name: string): Call =>
  async (limiter, streamed, spare) => {
    const format = FORMATS[name] as Format
    const send = provider(format, spare)
    const { api } = format
    const handle = modelHandler(
      limiter,
      { ...options, subject: () => subject, route: 'chat', api },
      ({ body }) => send('', { body }),
    )
    await (await handle(new Request(...post(name, streamed)))).bytes()
  }

const fetched =
  (name: string): Call =>
  async (limiter, streamed, spare) => {
    const fetch = provider(FORMATS[name] as Format, spare)
    const limited = limitedFetch(limiter, { ...options, subject, fetch })
    await (await limited(...post(name, streamed))).bytes()
  }

/** A model of the AI SDK as a provider's package makes it, which reports its usage by itself. */
function modelOf(modelId: string, spare: number): LanguageModel & object {
  const usageOf = ({ maxOutputTokens }: { readonly maxOutputTokens: number }) => ({
    inputTokens: { total: INPUT },
    outputTokens: { total: maxOutputTokens - spare, reasoning: maxOutputTokens - spare },
  })
  const finishReason = { unified: 'length', raw: 'MAX_TOKENS' }
  return {
    specificationVersion: 'v4',
    provider: 'a-vendor',
    modelId,
    supportedUrls: {},
    doGenerate: async (call: never) => ({
      content: [],
      finishReason,
      usage: usageOf(call),
      warnings: [],
    }),
    doStream: async (call: never) => ({
      stream: new ReadableStream({
        start(controller) {
          controller.enqueue({ type: 'stream-start', warnings: [] })
          controller.enqueue({ type: 'finish', finishReason, usage: usageOf(call) })
          controller.close()
        },
      }),
    }),
  } as never
}

const apiKey = 'none'
const AI_SDK: Readonly<Record<string, (spare: number) => LanguageModel & object>> = {
  'OpenAI chat': (spare) =>
    createOpenAI({ apiKey, fetch: provider(FORMATS['OpenAI chat'] as Format, spare) }).chat(
      'gpt-5',
    ),
  'OpenAI responses': (spare) =>
    createOpenAI({ apiKey, fetch: provider(FORMATS['OpenAI responses'] as Format, spare) })(
      'gpt-5',
    ),
  Claude: (spare) =>
    createAnthropic({ apiKey, fetch: provider(FORMATS['Claude'] as Format, spare) })(
      'claude-opus-5',
    ),
  'Gemini, by its compatible address': (spare) =>
    createOpenAICompatible({
      name: 'gemini',
      baseURL: 'https://generativelanguage.googleapis.com/v1beta/openai',
      includeUsage: true,
      fetch: provider(openaiChat('gemini-2.5-pro'), spare),
    })('gemini-2.5-pro'),
  Gemini: (spare) => modelOf('gemini-2.5-pro', spare),
  Bedrock: (spare) => modelOf('nova-pro', spare),
}

const modelled =
  (name: string): Call =>
  async (limiter, streamed, spare) => {
    const inner = AI_SDK[name]?.(spare) as never
    const { prices, maxOutput } = options
    const model = limitedModel(inner, limiter, { subject, prices, maxOutput })
    const call = { model, prompt: QUESTION, maxRetries: 0 }
    await (streamed ? streamText(call).consumeStream() : generateText(call))
  }

const CELLS: readonly (readonly [door: string, format: string, call: Call])[] = [
  ...Object.keys(FORMATS).flatMap((name) => [
    ['modelHandler', name, handled(name)] as const,
    ['limitedFetch', name, fetched(name)] as const,
  ]),
  ...Object.keys(AI_SDK).map((name) => ['limitedModel', name, modelled(name)] as const),
]

describe.each(CELLS)('%s, %s', (_door, _format, call) => {
  it.each([
    ['whole', false],
    ['streamed', true],
  ])('an answer that is cut, %s, is an event and a count', async (_, streamed) => {
    vi.stubGlobal('AI_SDK_LOG_WARNINGS', false)
    const heard: LimiterEvents['cutAnswer'][] = []
    let settled = 0
    const limiter = createLimiter({
      store: memory(),
      clock: manualClock(NOON),
      policies: modelPolicies({ per: ['tenant'], daily: 10_000_000 }),
      extensions: [
        listen({ cutAnswer: (event) => heard.push(event), settled: () => (settled += 1) }),
        prometheus(),
      ],
    })
    // One token less, and it is not cut.
    await call(limiter, streamed, 1)
    await vi.waitFor(() => expect(settled).toBe(1), PATIENTLY)
    expect(heard).toEqual([])
    await call(limiter, streamed, 0)
    await vi.waitFor(() => expect(settled).toBe(2), PATIENTLY)
    expect(heard).toMatchObject([
      {
        subject: { ...subject, model: expect.stringMatching(MODEL_NAME) },
        decision: { allowed: true },
        usage: { output: 5_000, complete: true, isCut: true },
      },
    ])
    const counted = (await metricsText(limiter)).match(/^rate_limiter_answers_cut_total\{.*/gm)
    expect(
      counted?.map((line) => [line.includes('rate_limiter_route="chat"'), line.slice(-2)]),
    ).toEqual([[true, ' 1']])
  })
})
