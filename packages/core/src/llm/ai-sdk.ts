import { ConfigError } from '../errors.ts'
import { knownOptions } from '../validate.ts'
import {
  metered,
  nothing,
  settling,
  validOptions,
  type ChunkReader,
  type MeterOptions,
} from './meter.ts'
import { isObject, Tally, type Known } from './tally.ts'
import type { Usage } from './usage.ts'

/**
 * The usage in what the AI SDK (`ai`, version 5 and later) tells: the event of `onEnd` or `onFinish`, a
 * result of `generateText`, or a usage by itself, as `await result.usage`. Numbers that its provider did not
 * tell are counted from the text.
 *
 * @param known What is known besides, as of `meter`.
 * @throws ConfigError When `known` is malformed, or what `streamText` returns is given as it is.
 * @example
 * streamText({ model, prompt, onEnd: (event) => settle(usageOfAiSdk(event)) })
 */
export function usageOfAiSdk(event: unknown, known: Known = {}): Usage {
  knownOptions('usageOfAiSdk', known, ['model', 'inputTokens', 'count'])
  const tally = new Tally(known)
  const { response, model, steps } = isObject(event) ? event : {}
  tally.named(isObject(model) ? model['modelId'] : undefined)
  tally.named(isObject(response) ? response['modelId'] : undefined)
  const usage = isObject(event) ? (event['totalUsage'] ?? event['usage'] ?? event) : undefined
  if (isObject(usage) && typeof usage['then'] === 'function') {
    throw new ConfigError('invalid_option', 'usageOfAiSdk.event', 'must be awaited first')
  }
  reported(usage, tally)
  for (const step of Array.isArray(steps) ? (steps as unknown[]) : [event]) {
    if (!isObject(step)) continue
    tally.said(step['text'])
    tally.said(step['reasoningText'])
  }
  tally.ended = true
  return tally.usage(true)
}

/** A middleware for `wrapLanguageModel` of the AI SDK; `ai` itself is not imported. */
export interface MeterModel {
  readonly specificationVersion: 'v4'
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
  const valid = validOptions('meterModel', options)

  return {
    specificationVersion: 'v4',
    async wrapGenerate({ doGenerate, model }) {
      const known = { model: model.modelId, ...valid }
      const settle = settling(known)
      const result = await orSettled(doGenerate, known, settle)
      const { usage, response, content } = result as Readonly<Record<string, unknown>>
      const tally = new Tally(known)
      tally.named(isObject(response) ? response['modelId'] : undefined)
      for (const part of Array.isArray(content) ? (content as unknown[]) : []) {
        if (!isObject(part)) continue
        tally.said(part['text'])
        if (part['type'] === 'tool-call') tally.said(part['input'])
      }
      reported(usage, tally)
      tally.ended = true
      settle(tally.usage(true))
      return result
    },
    async wrapStream({ doStream, model }) {
      const known = { model: model.modelId, ...valid }
      const settle = settling(known)
      const result = await orSettled(doStream, known, settle)
      return { ...result, stream: metered(result.stream, known, settle, partReader) }
    },
  }
}

/** What a call that failed has used: nothing when the provider turned it away. */
async function orSettled<Result>(
  call: () => PromiseLike<Result>,
  known: MeterOptions,
  settle: (usage: Usage) => void,
): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    const turnedAway = isObject(error) && Number(error['statusCode']) >= 400
    settle(turnedAway ? nothing(known.model) : new Tally(known).usage(false))
    throw error
  }
}

const partReader = (tally: Tally): ChunkReader<unknown> => ({
  see: (part) => {
    if (isObject(part)) readPart(part, tally)
  },
  end: () => undefined,
})

function readPart(part: Readonly<Record<string, unknown>>, tally: Tally): void {
  if (part['type'] === 'response-metadata') tally.named(part['modelId'])
  else if (part['type'] === 'finish') {
    reported(part['usage'], tally)
    tally.ended = true
  } else tally.said(part['delta'])
}

/** A usage as the AI SDK writes it, of a model (numbers in parts) or of a run (numbers and details). */
function reported(usage: unknown, tally: Tally): void {
  if (!isObject(usage)) return
  const { inputTokens: input, outputTokens: output, inputTokenDetails: details } = usage
  const parts = isObject(input) ? input : isObject(details) ? details : {}
  const completion = isObject(output) ? output['total'] : output
  tally.reported(
    {
      prompt_tokens: isObject(input) ? input['total'] : input,
      completion_tokens: completion,
      prompt_tokens_details: {
        cached_tokens: parts['cacheRead'] ?? parts['cacheReadTokens'] ?? usage['cachedInputTokens'],
        cache_write_tokens: parts['cacheWrite'] ?? parts['cacheWriteTokens'],
      },
    },
    typeof completion === 'number',
  )
  // Only there does Anthropic tell how long a cache is kept.
  tally.reported(usage['raw'], false)
}
