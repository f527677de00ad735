import type { Attributes, MeterProvider } from '@opentelemetry/api'
import type { Subject } from '@sluice/core'
import { assertKnownOptions, assertName } from '@sluice/core/internal'
import { boundedValues } from './bounded.ts'
import { instrumentsOf } from './sdk.ts'

/**
 * Names of OpenTelemetry's conventions for generative AI, in development, as of 2026-11-28:
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-inference.md
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-embeddings.md
 * They still change; no other file has them.
 */
export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  modality: 'gen_ai.token.modality',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  reasoningTokens: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  cacheReadTokens: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  inputTokensPerCall: 'gen_ai.client.inference.operation.input_tokens',
  outputTokensPerCall: 'gen_ai.client.inference.operation.output_tokens',
  duration: 'gen_ai.client.inference.duration',
  embeddingsInputTokensPerCall: 'gen_ai.client.embeddings.operation.input_tokens',
  embeddingsDuration: 'gen_ai.client.embeddings.duration',
  timeToFirstChunk: 'gen_ai.client.inference.time_to_first_chunk',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  error: 'error.type',
} as const

/** The operation whose metrics have names of their own. */
export const EMBEDDINGS = 'embeddings'

/** The bounds that the conventions give for tokens: powers of 4. */
const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, index) => 4 ** index)

/** The most models with numbers of their own. Others are `'other'`. */
export const MAX_MODELS = 100

/** Options of every way to report model calls. */
export interface ModelTelemetryOptions {
  /** The provider, by the name of the conventions, such as `openai`, `anthropic` or `aws.bedrock`. */
  readonly provider: string
  /** The operation, by the name of the conventions. @default 'chat' */
  readonly operation?: string
  /** @default the global one */
  readonly meterProvider?: MeterProvider
}

export const MODEL_OPTIONS: readonly string[] = ['provider', 'operation', 'meterProvider']

/** Returns the attributes that all metrics of these calls have. @throws ConfigError */
export const operationAttributes = (
  caller: string,
  { provider, operation = 'chat' }: ModelTelemetryOptions,
): Attributes => ({
  [GEN_AI.operation]: assertName(`${caller}.operation`, operation),
  [GEN_AI.provider]: assertName(`${caller}.provider`, provider),
})

/** The usage of one model call, as `@sluice/ai` passes it to `onUsage`. */
export interface ReportedUsage {
  readonly model: string | undefined
  readonly input: number
  readonly output: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly reasoning?: number
  readonly source: 'provider' | 'counted'
}

/**
 * Creates an `onUsage` for `@sluice/ai` that reports tokens by the GenAI conventions. As these ask, only
 * numbers of the provider count: a usage that had to be estimated is reported as 0 tokens.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * modelHandler(limiter, { subject, prices, onUsage: modelTelemetry({ provider: 'openai' }) }, openai)
 */
export function modelTelemetry(
  options: ModelTelemetryOptions,
): (usage: ReportedUsage, subject: Subject) => void {
  assertKnownOptions('modelTelemetry', options, MODEL_OPTIONS)
  const base = operationAttributes('modelTelemetry', options)
  const boundedModel = boundedValues(MAX_MODELS)
  const counters = instrumentsOf(options.meterProvider, (meter, name: string) =>
    meter.createCounter(name, { unit: '{token}' }),
  )
  const histograms = instrumentsOf(options.meterProvider, (meter, name: string) =>
    meter.createHistogram(name, {
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKEN_BOUNDS },
    }),
  )
  const count = (name: string, tokens: number, attributes: Attributes): void =>
    counters.find(name)?.add(tokens, attributes)
  const distribute = (name: string, tokens: number, attributes: Attributes): void =>
    histograms.find(name)?.record(tokens, attributes)

  return (usage, subject) => {
    const isReported = usage.source === 'provider'
    const { input, output, cachedInput, cacheWrite, reasoning = 0 } = isReported ? usage : NO_USAGE
    const models = {
      ...base,
      [GEN_AI.requestModel]: boundedModel(subject.model),
      [GEN_AI.responseModel]: boundedModel(usage.model),
    }
    if (options.operation === EMBEDDINGS) {
      // There are no others, and an estimate is not reported at all.
      if (isReported) distribute(GEN_AI.embeddingsInputTokensPerCall, input, models)
      return
    }
    const attributes = { ...models, [GEN_AI.modality]: 'unknown' }
    count(GEN_AI.inputTokens, input, attributes)
    count(GEN_AI.outputTokens, output, attributes)
    if (cachedInput > 0) count(GEN_AI.cacheReadTokens, cachedInput, attributes)
    if (cacheWrite > 0) count(GEN_AI.cacheWriteTokens, cacheWrite, attributes)
    if (reasoning > 0) count(GEN_AI.reasoningTokens, reasoning, attributes)
    distribute(GEN_AI.inputTokensPerCall, input, models)
    distribute(GEN_AI.outputTokensPerCall, output, models)
  }
}

const NO_USAGE = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0, reasoning: 0 }
