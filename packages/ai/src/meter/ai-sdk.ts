import { assertOptionRules, invalidOption } from '@sluice/core/internal'
import { FACT_RULES, METER_RULES, type MeterOptions } from './meter-options.ts'
import { createSettle, emptyUsage, metered, type ChunkReader } from './meter.ts'
import { isObject, objectOf, objectsIn, type Json } from '../json.ts'
import { reportedIn, units } from '../formats/provider-usage.ts'
import { UsageAccumulator, type AnswerFacts } from './usage-accumulator.ts'
import type { Usage } from '../usage.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/**
 * Returns the usage that the AI SDK (`ai`, version 5 and later) reports: from the event of `onEnd` or `onFinish`, a
 * result of `generateText`, or a usage by itself, as `await result.usage`. Numbers that its provider did not
 * report are counted from the text.
 *
 * Version 5 leaves Anthropic's cache out of the input. It is added if the event names
 * Anthropic. A usage by itself does not: there only what was read is added, if it exceeds the input.
 *
 * @param known Facts that are known in advance, as for `meter`.
 * @throws ConfigError When `known` is malformed, or the result of `streamText` is given as it is.
 * @example
 * streamText({ model, prompt, onEnd: (event) => settle(usageOfAiSdk(event)) })
 */
export function usageOfAiSdk(event: unknown, known: AnswerFacts = {}): Usage {
  assertOptionRules('usageOfAiSdk', known, FACT_RULES)
  const accumulator = new UsageAccumulator(known)
  const fields = objectOf(event)
  const { response, model, steps } = fields
  accumulator.setModel(objectOf(model)['modelId'])
  accumulator.setModel(objectOf(response)['modelId'])
  const usage = fields['totalUsage'] ?? fields['usage'] ?? fields
  if (isObject(usage) && typeof usage['then'] === 'function') {
    throw invalidOption('usageOfAiSdk.event', 'must be awaited first')
  }
  const calls: readonly unknown[] = Array.isArray(steps) ? steps : [event]
  addReported(usage, calls, accumulator)
  for (const { text, reasoningText, toolCalls } of objectsIn(calls)) {
    accumulator.addOutput(text)
    accumulator.addOutput(reasoningText)
    for (const { input } of objectsIn(toolCalls)) accumulator.addOutput(JSON.stringify(input))
  }
  accumulator.ended = true
  return accumulator.usage(true)
}

/** A middleware for `wrapLanguageModel` of the AI SDK; `ai` itself is not imported. */
export interface MeterModel {
  // eslint-disable-next-line typescript/no-explicit-any -- 'v3' for version 6 of the SDK, 'v4' for 7; neither reads it
  readonly specificationVersion: any
  wrapGenerate<Result extends object>(call: {
    doGenerate: () => PromiseLike<Result>
    model: { readonly modelId: string }
  }): Promise<Result>
  wrapStream<Result extends { readonly stream: ReadableStream }>(call: {
    doStream: () => PromiseLike<Result>
    model: { readonly modelId: string }
  }): Promise<Result>
}

/**
 * Meters each call of a language model of the AI SDK, streamed or not, as `meter` does a response. A run
 * with tools makes several calls, and `settle` is called for each.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const model = wrapLanguageModel({ model: openai('gpt-4o'), middleware: meterModel({ settle }) })
 */
export function meterModel(options: MeterOptions): MeterModel {
  assertOptionRules('meterModel', options, METER_RULES, 'settle')
  return modelMeter(options)
}

/** As `meterModel`, for options that are known to be valid. */
export function modelMeter(options: MeterOptions): MeterModel {
  return {
    specificationVersion: 'v4',
    async wrapGenerate({ doGenerate, model }) {
      const known = { ...options, model: options.model ?? model.modelId }
      const settle = createSettle(known)
      const result = await settleOnError(doGenerate, known, settle)
      const { usage, response, content } = result as Readonly<Record<string, unknown>>
      const accumulator = new UsageAccumulator(known)
      accumulator.setModel(objectOf(response)['modelId'])
      for (const { text, type, input } of objectsIn(content)) {
        accumulator.addOutput(text)
        if (type === 'tool-call') accumulator.addOutput(input)
      }
      addReported(usage, [result], accumulator)
      accumulator.ended = true
      settle(accumulator.usage(true))
      return result
    },
    async wrapStream({ doStream, model }) {
      const known = { ...options, model: options.model ?? model.modelId }
      const settle = createSettle(known)
      const result = await settleOnError(doStream, known, settle)
      return { ...result, stream: metered(result.stream, known, settle, partReader) }
    },
  }
}

/** Settles a call that fails, and throws its error. */
async function settleOnError<Result>(
  call: () => PromiseLike<Result>,
  known: MeterOptions,
  settle: (usage: Usage) => void,
): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    settle(usageOfFailure(objectOf(error), known))
    throw error
  }
}

/** Errors of the SDK before it sends anything: of its settings, and of what a provider cannot take. */
const BEFORE_SENDING =
  /^AI_(Load(APIKey|Setting)|UnsupportedFunctionality|Invalid(Argument|Prompt))Error$/

/**
 * The usage of a call that failed: nothing if it was not sent, or if the provider refused it. An answer that
 * begins with an error has a status in the SDK as if it was refused, but is billed.
 */
function usageOfFailure(error: Json, known: MeterOptions): Usage {
  const { name, statusCode, responseHeaders, responseBody } = error
  // Of some errors it is text, of others an object.
  const body = objectOf(typeof responseBody === 'string' ? parseJson(responseBody) : responseBody)
  const answer = objectOf(body['response'] ?? body)
  const type = objectOf(responseHeaders)['content-type']
  const isAnswer = String(type).includes('text/event-stream') || answer['object'] === 'response'
  const isRefused = Number(statusCode) >= 400 && !isAnswer
  if (isRefused || BEFORE_SENDING.test(String(name))) return emptyUsage(known.model)
  const accumulator = new UsageAccumulator(known)
  accumulator.addReport(reportedIn(answer['usage']))
  return accumulator.usage(true)
}

function partReader(accumulator: UsageAccumulator): ChunkReader<unknown> {
  /** The calls of tools whose input came in pieces, to come again as a whole. */
  const inPieces = new Set<unknown>()
  return {
    see(chunk) {
      const part = objectOf(chunk)
      const { type, delta } = part
      accumulator.addOutput(delta)
      if (type === 'tool-input-delta') inPieces.add(part['id'])
      else if (type === 'tool-call') {
        if (!inPieces.delete(part['toolCallId'])) accumulator.addOutput(part['input'])
      } else if (type === 'response-metadata') accumulator.setModel(part['modelId'])
      else if (type === 'finish') {
        addReported(part['usage'], [part], accumulator)
        accumulator.ended = true
      }
    },
    end: () => undefined,
  }
}

/**
 * A usage as the AI SDK writes it, of a model (numbers in parts) or of a run (numbers and details).
 *
 * @param calls The calls that it sums up, with their metadata.
 */
function addReported(
  usage: unknown,
  calls: readonly unknown[],
  accumulator: UsageAccumulator,
): void {
  if (!isObject(usage)) return
  const { inputTokens: input, outputTokens: output, inputTokenDetails: details } = usage
  const parts = isObject(input) ? input : details
  const { cacheRead, cacheReadTokens, cacheWrite, cacheWriteTokens } = objectOf(parts)
  const metadata = calls.map((call) => objectOf(objectOf(call)['providerMetadata']))
  const anthropic = objectsIn(metadata.map((one) => one['anthropic']))
  const bedrock = objectsIn(metadata.map((one) => objectOf(one['bedrock'])['usage']))
  const openai = objectOf(metadata[0]?.['openai'])
  // Without parts, version 5 reports their input without the cache, and what was written there by call.
  const isBeside = !isObject(parts) && anthropic.length + bedrock.length > 0
  const written =
    sumOf(anthropic, 'cacheCreationInputTokens') + sumOf(bedrock, 'cacheWriteInputTokens')
  // Only Anthropic's own usage says how long a cache is kept: of each call, or of all.
  const ofCalls = objectsIn(anthropic.map((one) => one['usage']))
  const raw = ofCalls.length > 0 ? ofCalls : [objectOf(usage['raw'])]
  const kept = raw.map((one) => objectOf(one['cache_creation']))
  const reportedUsage = {
    service_tier: raw[0]?.['service_tier'] ?? openai['serviceTier'],
    [isBeside ? 'input_tokens' : 'prompt_tokens']: isObject(input) ? input['total'] : input,
    output_tokens: isObject(output) ? output['total'] : output,
    cache_read_input_tokens: cacheRead ?? cacheReadTokens ?? usage['cachedInputTokens'],
    cache_creation_input_tokens: cacheWrite ?? cacheWriteTokens ?? written,
    cache_creation: { ephemeral_1h_input_tokens: sumOf(kept, 'ephemeral_1h_input_tokens') },
  }
  accumulator.addReport(reportedIn(reportedUsage))
}

/** Adds up a number that some of these have. */
function sumOf(list: readonly Json[], name: string): number {
  return list.reduce((sum, one) => sum + units(one[name]), 0)
}
