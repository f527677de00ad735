import { ConfigError } from '@sluice/core'
import { assertOptionRules } from '@sluice/core/validation'
import { KNOWN_RULES, METER_RULES, type MeterOptions } from './meter-options.ts'
import { metered, nothing, settling, type ChunkReader } from './meter.ts'
import { isObject, objectOf, objectsIn, parsed, type Json } from '../json.ts'
import { reportedIn, units } from '../formats/provider-usage.ts'
import { Tally, type Known } from './tally.ts'
import type { Usage } from '../usage.ts'

/**
 * The usage in what the AI SDK (`ai`, version 5 and later) tells: the event of `onEnd` or `onFinish`, a
 * result of `generateText`, or a usage by itself, as `await result.usage`. Numbers that its provider did not
 * tell are counted from the text.
 *
 * Version 5 leaves Anthropic's cache out of the input. It is added where the event tells that it is
 * Anthropic's; a usage by itself does not, and there only what was read is added, if it exceeds the input.
 *
 * @param known What is known besides, as of `meter`.
 * @throws ConfigError When `known` is malformed, or what `streamText` returns is given as it is.
 * @example
 * streamText({ model, prompt, onEnd: (event) => settle(usageOfAiSdk(event)) })
 */
export function usageOfAiSdk(event: unknown, known: Known = {}): Usage {
  assertOptionRules('usageOfAiSdk', known, KNOWN_RULES)
  const tally = new Tally(known)
  const fields = objectOf(event)
  const { response, model, steps } = fields
  tally.named(objectOf(model)['modelId'])
  tally.named(objectOf(response)['modelId'])
  const usage = fields['totalUsage'] ?? fields['usage'] ?? fields
  if (isObject(usage) && typeof usage['then'] === 'function') {
    throw new ConfigError('invalid_option', 'usageOfAiSdk.event', 'must be awaited first')
  }
  const calls: readonly unknown[] = Array.isArray(steps) ? steps : [event]
  reported(usage, calls, tally)
  for (const { text, reasoningText, toolCalls } of objectsIn(calls)) {
    tally.said(text)
    tally.said(reasoningText)
    for (const { input } of objectsIn(toolCalls)) tally.said(JSON.stringify(input))
  }
  tally.ended = true
  return tally.usage(true)
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
 * with tools makes several calls, and `settle` hears of each.
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
      const settle = settling(known)
      const result = await orSettled(doGenerate, known, settle)
      const { usage, response, content } = result as Readonly<Record<string, unknown>>
      const tally = new Tally(known)
      tally.named(objectOf(response)['modelId'])
      for (const { text, type, input } of objectsIn(content)) {
        tally.said(text)
        if (type === 'tool-call') tally.said(input)
      }
      reported(usage, [result], tally)
      tally.ended = true
      settle(tally.usage(true))
      return result
    },
    async wrapStream({ doStream, model }) {
      const known = { ...options, model: options.model ?? model.modelId }
      const settle = settling(known)
      const result = await orSettled(doStream, known, settle)
      return { ...result, stream: metered(result.stream, known, settle, partReader) }
    },
  }
}

/** Settles a call that fails, and throws its error. */
async function orSettled<Result>(
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
  const body = objectOf(typeof responseBody === 'string' ? parsed(responseBody) : responseBody)
  const answer = objectOf(body['response'] ?? body)
  const type = objectOf(responseHeaders)['content-type']
  const isAnswer = String(type).includes('text/event-stream') || answer['object'] === 'response'
  const isRefused = Number(statusCode) >= 400 && !isAnswer
  if (isRefused || BEFORE_SENDING.test(String(name))) return nothing(known.model)
  const tally = new Tally(known)
  tally.reported(reportedIn(answer['usage']))
  return tally.usage(true)
}

function partReader(tally: Tally): ChunkReader<unknown> {
  /** The calls of tools whose input came in pieces, to come again as a whole. */
  const inPieces = new Set<unknown>()
  return {
    see(chunk) {
      const part = objectOf(chunk)
      const { type, delta } = part
      tally.said(delta)
      if (type === 'tool-input-delta') inPieces.add(part['id'])
      else if (type === 'tool-call') {
        if (!inPieces.delete(part['toolCallId'])) tally.said(part['input'])
      } else if (type === 'response-metadata') tally.named(part['modelId'])
      else if (type === 'finish') {
        reported(part['usage'], [part], tally)
        tally.ended = true
      }
    },
    end: () => undefined,
  }
}

/**
 * A usage as the AI SDK writes it, of a model (numbers in parts) or of a run (numbers and details).
 *
 * @param calls What else is told of each call that it sums up.
 */
function reported(usage: unknown, calls: readonly unknown[], tally: Tally): void {
  if (!isObject(usage)) return
  const { inputTokens: input, outputTokens: output, inputTokenDetails: details } = usage
  const parts = isObject(input) ? input : details
  const { cacheRead, cacheReadTokens, cacheWrite, cacheWriteTokens } = objectOf(parts)
  const metadata = calls.map((call) => objectOf(objectOf(call)['providerMetadata']))
  const anthropic = objectsIn(metadata.map((told) => told['anthropic']))
  const bedrock = objectsIn(metadata.map((told) => objectOf(told['bedrock'])['usage']))
  const openai = objectOf(metadata[0]?.['openai'])
  // Without parts, version 5 tells their input beside the cache, and by call what was written there.
  const isBeside = !isObject(parts) && anthropic.length + bedrock.length > 0
  const written =
    sumOf(anthropic, 'cacheCreationInputTokens') + sumOf(bedrock, 'cacheWriteInputTokens')
  // Only there does Anthropic tell how long a cache is kept: of each call, or of all.
  const ofCalls = objectsIn(anthropic.map((told) => told['usage']))
  const raw = ofCalls.length > 0 ? ofCalls : [objectOf(usage['raw'])]
  const kept = raw.map((told) => objectOf(told['cache_creation']))
  const reportedUsage = {
    service_tier: raw[0]?.['service_tier'] ?? openai['serviceTier'],
    [isBeside ? 'input_tokens' : 'prompt_tokens']: isObject(input) ? input['total'] : input,
    output_tokens: isObject(output) ? output['total'] : output,
    cache_read_input_tokens: cacheRead ?? cacheReadTokens ?? usage['cachedInputTokens'],
    cache_creation_input_tokens: cacheWrite ?? cacheWriteTokens ?? written,
    cache_creation: { ephemeral_1h_input_tokens: sumOf(kept, 'ephemeral_1h_input_tokens') },
  }
  tally.reported(reportedIn(reportedUsage))
}

/** The sum of a number that some of these have. */
function sumOf(list: readonly Json[], name: string): number {
  return list.reduce((sum, one) => sum + units(one[name]), 0)
}
