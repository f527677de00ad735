/* Another model after a refusal, as the official clients and the AI SDK see it. */
import {
  limitedFetch,
  limitedModel,
  modelHandler,
  type AiSdkModel,
  type CallOptions,
  type FetchLike,
  type ModelApi,
} from '@sluice/ai'
import { fallback } from '@sluice/ai/fallback'
import type { Limiter } from '@sluice/core'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { CLIENT_CALLS } from './client-calls.ts'
import { chargedBy, roomyDoor } from './doors.ts'
import { key as apiKey, listOf } from './official-calls.ts'
import { createProvider, type Provider } from './provider.ts'

// The SDK says what a model ignores, once a call.
beforeAll(() => void vi.stubGlobal('AI_SDK_LOG_WARNINGS', false))

/** The model that answers instead of another. */
const OTHERS: Readonly<Record<string, string>> = {
  'gpt-4o': 'gpt-4o-mini',
  'gpt-5.4': 'o4-mini',
  'claude-opus-4-6': 'claude-sonnet-4-5',
}
/** Returns the model that answers a call instead. */
const otherFor = (call: string): string =>
  /anthropic/.test(call) ? 'claude-sonnet-4-5' : /responses/.test(call) ? 'o4-mini' : 'gpt-4o-mini'

const APIS: readonly (readonly [string, ModelApi])[] = [
  ['/chat/completions', 'openai-chat'],
  ['/completions', 'openai-completions'],
  ['/responses', 'openai-responses'],
  ['/embeddings', 'openai-embeddings'],
  ['/messages', 'anthropic-messages'],
]

type Options = CallOptions & { readonly subject: { readonly tenant: string } }

const WAYS: Readonly<Record<string, (to: FetchLike, options: Options, by: Limiter) => FetchLike>> =
  {
    limitedFetch: (fetch, options, limiter) => limitedFetch(limiter, { ...options, fetch }),
    modelHandler: (fetch, options, limiter) => async (input, init) => {
      const request = new Request(input, init)
      const [, api] = APIS.find(([end]) => new URL(request.url).pathname.endsWith(end)) ?? []
      const handle = modelHandler(
        limiter,
        { ...options, subject: () => options.subject, api: api as ModelApi },
        ({ body, signal }) => fetch(request.url, { method: 'POST', body, signal }),
      )
      return handle(request)
    },
  }

/** A provider that is asked for another model than the client names. */
const renaming =
  ({ fetch }: Provider): FetchLike =>
  async (input, init) => {
    const body = JSON.parse(init?.body as string) as { readonly model: string }
    return fetch(input, {
      ...init,
      body: JSON.stringify({ ...body, model: OTHERS[body.model] ?? body.model }),
    })
  }

const plain = (result: unknown): unknown => JSON.parse(JSON.stringify(result ?? null)) as unknown
const sumOf = ({ bills }: Provider): number =>
  bills.reduce((sum, { microDollars }) => sum + microDollars, 0)

/** The calls of official clients with models that have another: JSON, streams, tools, and formats of answers. */
const CALLS = Object.entries(CLIENT_CALLS).filter(
  ([name]) =>
    /^(openai|anthropic|ai \d)/.test(name) &&
    !/embed|aborted|refused|that think|openai, completions(, streamed)?$/.test(name),
)
const CELLS = Object.keys(WAYS).flatMap((way) => CALLS.map(([call, ask]) => ({ way, call, ask })))

it('the calls of official clients are there', () => {
  expect(CALLS.length).toBeGreaterThan(40)
})

describe.each(CELLS)('$call, through $way', ({ way, call, ask }) => {
  it('gives what the other model gives, and charges what it bills', async () => {
    const direct = createProvider()
    const expected = plain(await ask({ fetch: renaming(direct) }))
    const provider = createProvider({ overloadedFor: 1 })
    const { limiter, options, settled } = roomyDoor()
    const fallbackModels = fallback([otherFor(call)])
    const door = WAYS[way]!(provider.fetch, { ...options, fallbackModels }, limiter)
    const result = plain(await ask({ fetch: door }))
    await settled()
    const models = provider.requests.map(({ body }) => String(body['model']))
    const [first = ''] = models
    if (!(first in OTHERS)) throw new Error(`${call} asks for ${first}`)
    expect(models[1]).toBe(OTHERS[first])
    expect(result).toEqual(expected)
    expect(sumOf(provider)).toBeGreaterThan(0)
    expect((await chargedBy(limiter)).usd).toBe(sumOf(provider))
  })
})
/** The parts of the AI SDK that are used here; each version has types of its own. */
interface Sdk {
  generateText(options: object): PromiseLike<Readonly<Record<string, unknown>>>
  streamText(options: object): {
    readonly fullStream: AsyncIterable<Readonly<Record<string, unknown>>>
  }
  generateObject(
    options: object,
  ): PromiseLike<{ readonly object: unknown; readonly usage: unknown }>
}

const VERSIONS = {
  'ai 5': { sdk: ai5, openai: createOpenAI5, anthropic: createAnthropic5 },
  'ai 6': { sdk: ai6, openai: createOpenAI6, anthropic: createAnthropic6 },
  'ai 7': { sdk: ai7, openai: createOpenAI, anthropic: createAnthropic },
} as const
type Version = (typeof VERSIONS)[keyof typeof VERSIONS]

/** The models of each kind: the first, and the one that answers instead. */
const KINDS: Readonly<
  Record<string, readonly [(version: Version, fetch: FetchLike, name: string) => unknown, string]>
> = {
  'openai, chat': [({ openai }, fetch, name) => openai({ apiKey, fetch }).chat(name), 'gpt-4o'],
  'openai, responses': [
    ({ openai }, fetch, name) => openai({ apiKey, fetch }).responses(name),
    'gpt-5.4',
  ],
  anthropic: [
    ({ anthropic }, fetch, name) => anthropic({ apiKey, fetch })(name),
    'claude-opus-4-6',
  ],
}

const shown = ({
  text,
  toolCalls,
  usage,
  totalUsage,
  finishReason,
  type,
  toolName,
}: Readonly<Record<string, unknown>>) => ({
  text,
  toolCalls,
  usage: usage ?? totalUsage,
  finishReason,
  type,
  toolName,
})
const maxOutputTokens = 50
const tools = { weather: { inputSchema: ai7.jsonSchema({ type: 'object', properties: {} }) } }

/** Calls of the AI SDK. */
const SDK_CALLS: Readonly<Record<string, (sdk: Sdk, model: unknown) => Promise<unknown>>> = {
  text: async (sdk, model) =>
    shown(await sdk.generateText({ model, maxOutputTokens, prompt: 'Why?' })),
  tools: async (sdk, model) =>
    shown(await sdk.generateText({ model, maxOutputTokens, prompt: 'Call a tool.', tools })),
  'a stream': async (sdk, model) =>
    (
      (await listOf(
        sdk.streamText({ model, maxOutputTokens, prompt: 'Why?' }).fullStream,
      )) as object[]
    ).map((part) => shown(part as Readonly<Record<string, unknown>>)),
  'a stream of tools': async (sdk, model) =>
    (
      (await listOf(
        sdk.streamText({ model, maxOutputTokens, prompt: 'Call a tool.', tools }).fullStream,
      )) as object[]
    ).map((part) => shown(part as Readonly<Record<string, unknown>>)),
}

const SDK_CELLS = Object.keys(VERSIONS).flatMap((version) =>
  Object.keys(KINDS).flatMap((kind) =>
    Object.entries(SDK_CALLS).map(([call, ask]) => ({
      version: version as keyof typeof VERSIONS,
      kind,
      call,
      ask,
    })),
  ),
)

describe.each(SDK_CELLS)('limitedModel with $version, $kind: $call', ({ version, kind, ask }) => {
  it('gives what the other model gives, and charges what it bills', async () => {
    const [create, name] = KINDS[kind]!
    const of = VERSIONS[version]
    const sdk = of.sdk as unknown as Sdk
    const other = OTHERS[name] as string
    const expected = plain(await ask(sdk, create(of, createProvider().fetch, other)))
    const provider = createProvider({ overloadedFor: 1 })
    const { limiter, options, settled } = roomyDoor()
    const model = limitedModel(create(of, provider.fetch, name) as AiSdkModel, limiter, {
      ...options,
      fallbackModels: fallback([create(of, provider.fetch, other) as AiSdkModel]),
    })
    const result = plain(await ask(sdk, model))
    await settled()
    expect(provider.requests.map(({ body }) => body['model'])).toEqual([name, other])
    expect(result).toEqual(expected)
    expect((await chargedBy(limiter)).usd).toBe(sumOf(provider))
  })
})

describe.each(Object.keys(VERSIONS))('limitedModel with %s', (version) => {
  it('does not have the SDK repeat a list at whose end every provider refuses', async () => {
    const of = VERSIONS[version as keyof typeof VERSIONS]
    const provider = createProvider({ overloadedFor: 99 })
    const { limiter, options, settled } = roomyDoor()
    const [create] = KINDS['openai, chat']!
    const model = limitedModel(create(of, provider.fetch, 'gpt-4o') as AiSdkModel, limiter, {
      ...options,
      fallbackModels: fallback([create(of, provider.fetch, 'gpt-4o-mini') as AiSdkModel]),
    })
    const call = (of.sdk as unknown as Sdk).generateText({ model, prompt: 'Why?', maxRetries: 2 })
    await expect(Promise.resolve(call)).rejects.toMatchObject({ statusCode: 503 })
    await settled()
    expect(provider.requests.map(({ body }) => body['model'])).toEqual(['gpt-4o', 'gpt-4o-mini'])
    expect(await chargedBy(limiter)).toEqual({ usd: 0, token: 0 })
  })
})
