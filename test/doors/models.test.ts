import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { limitedModel, type AiSdkModel } from '@sluice/ai'
import * as ai7 from 'ai'
import * as ai5 from 'ai5'
import { createAnthropic as createAnthropic5 } from 'ai5-anthropic'
import { createOpenAI as createOpenAI5 } from 'ai5-openai'
import { createOpenAICompatible as createCompatible5 } from 'ai5-openai-compatible'
import * as ai6 from 'ai6'
import { createAnthropic as createAnthropic6 } from 'ai6-anthropic'
import { createOpenAI as createOpenAI6 } from 'ai6-openai'
import { createOpenAICompatible as createCompatible6 } from 'ai6-openai-compatible'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { chargedBy, roomyDoor, TERMS, verdict, type Outcome, type Terms } from './doors.ts'
import { createProvider, type Provider } from './provider.ts'

type Fields = Readonly<Record<string, unknown>>
/** The part of the AI SDK that all versions share. */
interface Sdk {
  generateText(options: Fields): PromiseLike<unknown>
  streamText(options: Fields): { readonly fullStream: AsyncIterable<unknown> }
}

/** Each version of the AI SDK with the providers of its time. */
const VERSIONS = {
  'ai 5': {
    sdk: ai5,
    openai: createOpenAI5,
    anthropic: createAnthropic5,
    compatible: createCompatible5,
  },
  'ai 6': {
    sdk: ai6,
    openai: createOpenAI6,
    anthropic: createAnthropic6,
    compatible: createCompatible6,
  },
  'ai 7': {
    sdk: ai7,
    openai: createOpenAI,
    anthropic: createAnthropic,
    compatible: createOpenAICompatible,
  },
} as const
type Version = (typeof VERSIONS)[keyof typeof VERSIONS]

interface Kind {
  readonly model: (version: Version, provider: Provider) => unknown
  /** The name of its options. */
  readonly vendor: string
  /** True if its streams are not asked for their usage. */
  readonly isSilent?: true
}

const settings = ({ fetch }: Provider) => ({ apiKey: 'a', fetch })
const compatible = (version: Version, provider: Provider, includeUsage = true) =>
  version.compatible({
    ...settings(provider),
    name: 'vllm',
    baseURL: 'https://vllm.example/v1',
    includeUsage,
  })

/** The models of each provider. */
const KINDS: Readonly<Record<string, Kind>> = {
  'openai, chat': {
    vendor: 'openai',
    model: ({ openai }, to) => openai(settings(to)).chat('gpt-4o'),
  },
  'openai, chat that thinks': {
    vendor: 'openai',
    model: ({ openai }, to) => openai(settings(to)).chat('o4-mini'),
  },
  'openai, responses': {
    vendor: 'openai',
    model: ({ openai }, to) => openai(settings(to)).responses('gpt-5.4'),
  },
  'openai, completion': {
    vendor: 'openai',
    model: ({ openai }, to) => openai(settings(to)).completion('gpt-3.5-turbo-instruct'),
  },
  anthropic: {
    vendor: 'anthropic',
    model: ({ anthropic }, to) => anthropic(settings(to))('claude-opus-4-6'),
  },
  'compatible, chat': {
    vendor: 'vllm',
    model: (version, to) => compatible(version, to).chatModel('llama-3.3-70b-versatile'),
  },
  'compatible, chat without usage': {
    vendor: 'vllm',
    isSilent: true,
    model: (version, to) => compatible(version, to, false).chatModel('llama-3.3-70b-versatile'),
  },
  'compatible, completion': {
    vendor: 'vllm',
    model: (version, to) => compatible(version, to).completionModel('llama-3.3-70b-versatile'),
  },
}

const WORDS = 'Why is the sky blue, and the grass not? Pourquoi ? なぜ空は青いのですか。🌍 '
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } } as const
const tools = {
  weather: { description: 'Tells the weather.', inputSchema: ai7.jsonSchema(SCHEMA) },
}
const messages = (...content: unknown[]) => ({
  prompt: undefined,
  messages: [{ role: 'user', content }],
})
const PICTURE = { type: 'image', image: new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]) }
const EPHEMERAL = { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } }

/** Options of a call. */
const CALLS: Readonly<Record<string, Fields>> = {
  'nothing else': {},
  'maxOutputTokens: 1': { maxOutputTokens: 1 },
  'maxOutputTokens: 100': { maxOutputTokens: 100 },
  'maxOutputTokens: 1000000': { maxOutputTokens: 1_000_000 },
  sampling: { temperature: 0.5, seed: 7, stopSequences: ['\n'] },
  'many words': { prompt: WORDS.repeat(300) },
  'escaped text': { prompt: '\u0001\u0002"\\'.repeat(999) },
  'a system message': {
    prompt: undefined,
    messages: [{ role: 'user', content: WORDS }],
    system: WORDS.repeat(9),
  },
  parts: messages({ type: 'text', text: WORDS }, { type: 'text', text: WORDS.repeat(9) }),
  tools: { tools },
  'kept for an hour': messages({
    type: 'text',
    text: WORDS.repeat(99),
    providerOptions: EPHEMERAL,
  }),
  'a picture': messages(PICTURE),
  'a file': messages({
    type: 'file',
    data: 'JVBERi0xLjQK',
    mediaType: 'application/pdf',
    filename: 'a.pdf',
  }),
  'reasoning of the call': { reasoning: 'high' },
}

/** Options of each provider, by the name that its options have. */
const OPTIONS: Readonly<Record<string, readonly Fields[]>> = {
  openai: [
    { serviceTier: 'default' },
    { serviceTier: 'auto' },
    { serviceTier: 'flex' },
    { serviceTier: 'priority' },
    { reasoningEffort: 'high' },
    { textVerbosity: 'high' },
    { store: false, metadata: { job: 'a' }, user: 'u' },
    { logprobs: 5 },
    { parallelToolCalls: false, promptCacheKey: 'k', safetyIdentifier: 's' },
    { maxCompletionTokens: 90_000 },
    { prediction: { type: 'content', content: WORDS } },
    { previousResponseId: 'resp_1' },
    { conversation: 'conv_1' },
    { instructions: WORDS.repeat(40) },
    { include: ['reasoning.encrypted_content'] },
    { truncation: 'auto', maxToolCalls: 3 },
    { contextManagement: [{ type: 'compaction', compactThreshold: 1_000 }] },
    { suffix: WORDS.repeat(40) },
    { echo: true },
  ],
  anthropic: [
    { cacheControl: { type: 'ephemeral' } },
    { cacheControl: { type: 'ephemeral', ttl: '1h' } },
    { thinking: { type: 'enabled', budgetTokens: 2_000 } },
    { thinking: { type: 'enabled', budgetTokens: 20_000 } },
    { thinking: { type: 'adaptive' } },
    { effort: 'low' },
    { speed: 'fast' },
    { serviceTier: 'auto' },
    { inferenceGeo: 'us' },
    { sendReasoning: false, disableParallelToolUse: true },
    { mcpServers: [{ type: 'url', name: 'a', url: 'https://mcp.example' }] },
    { container: { id: 'container_1', skills: [{ type: 'anthropic', skillId: 'pptx' }] } },
    { contextManagement: { edits: [{ type: 'compact_20260112' }] } },
  ],
  vllm: [
    { user: 'u', reasoningEffort: 'high' },
    { max_tokens: 90_000 },
    { n: 9 },
    { best_of: 9 },
    { service_tier: 'priority' },
    { plugins: [{ id: 'web' }] },
    { provider: { sort: 'latency' } },
    { stream_options: { include_usage: false } },
  ],
}

const isStreamed = [false, true]

/** Makes one call through the door, and compares what is charged with what is billed. */
async function judge(
  version: Version,
  kind: Kind,
  options: Fields,
  stream: boolean,
  { provider: behaviour, bounded, hangsUp }: Terms,
): Promise<Outcome> {
  const provider = createProvider(behaviour)
  const { limiter, options: own, settled } = roomyDoor(bounded)
  const model = limitedModel(kind.model(version, provider) as AiSdkModel, limiter, own)
  const sdk = version.sdk as unknown as Sdk
  const call = { model, prompt: WORDS, maxRetries: 0, onError: () => undefined, ...options }
  try {
    if (stream) {
      for await (const part of sdk.streamText(call).fullStream) {
        if (hangsUp && (part as { type: string }).type === 'text-delta') break
      }
    } else await sdk.generateText(call)
  } catch {
    // Refused, or an answer that the SDK does not understand: the figures tell.
  }
  await settled()
  const status = provider.requests.length === 0 ? 400 : 200
  return verdict(status, provider, await chargedBy(limiter), behaviour.told !== false)
}

// The SDK says what a model ignores, once a call.
beforeAll(() => void vi.stubGlobal('AI_SDK_LOG_WARNINGS', false))

const CELLS = Object.keys(VERSIONS).flatMap((version) =>
  Object.keys(KINDS).map((kind) => ({ version: version as keyof typeof VERSIONS, kind })),
)

/** Where nothing tells the usage, only what is bounded can be compared. */
const termsOf = ({ isSilent }: Kind) =>
  Object.entries(TERMS).filter(([, { provider }]) => !isSilent || provider.told === false)

describe.each(CELLS)('limitedModel with $version, $kind', ({ version, kind: name }) => {
  const kind = KINDS[name] as Kind

  it.each(termsOf(kind))('charges what is billed: %s', async (_, terms) => {
    const wrong: string[] = []
    const ofVendor = (OPTIONS[kind.vendor] ?? []).map(
      (options) =>
        [JSON.stringify(options), { providerOptions: { [kind.vendor]: options } }] as const,
    )
    for (const [row, options] of [...Object.entries(CALLS), ...ofVendor]) {
      for (const stream of isStreamed) {
        const outcome = await judge(VERSIONS[version], kind, options, stream, terms)
        const isRight = row === 'nothing else' ? /^sent$/ : /^(sent|refused|turned away)$/
        if (!isRight.test(outcome)) wrong.push(`${row}${stream ? ', streamed' : ''}; : ${outcome}`)
      }
    }
    expect(wrong).toEqual([])
  })
})
