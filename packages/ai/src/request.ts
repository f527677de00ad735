import { InputError } from '@sluice/core'
import {
  MAX_UNITS,
  assertFunction,
  assertKnownOptions,
  assertPositiveInteger,
} from '@sluice/core/validation'
import { isObject, own, type Json } from './json.ts'
import { units } from './provider-usage.ts'
import { inputTokens, type Inspect } from './request-input.ts'

/** The most that a request may use. */
export interface RequestEstimate {
  /** The model that the body names. */
  readonly model: string | undefined
  /** Input tokens, estimated. */
  readonly input: number
  /** The most output tokens that the body allows, over all the answers that it asks for. */
  readonly output: number
}

/** Options of `estimateRequest`: what to count with, and what to assume where a body does not tell. */
export interface EstimateRequestOptions {
  /**
   * Counts the tokens of a text.
   *
   * @default `estimateTokens`, times 1.5 for a Claude model
   */
  readonly count?: (text: string) => number
  /** Output tokens of one answer where the body sets no maximum. @default 4_096 */
  readonly defaultOutput?: number
  /** Tokens of an image. @default the most that the model can make of one */
  readonly imageTokens?: number
  /**
   * Tokens of something that is billed as input and is not in the body to be counted: a file, a PDF, a
   * sound, an earlier response, a stored prompt, the tools of an MCP server.
   *
   * @default 20_000
   */
  readonly unseenTokens?: number
}

/** Options that may be `undefined`, as they come from others. */
type EstimateTerms = {
  readonly [Name in keyof EstimateRequestOptions]?: EstimateRequestOptions[Name] | undefined
}

/**
 * The tokens that a request may use, from its parsed JSON body: OpenAI's chat completions, responses and
 * legacy completions, Anthropic's messages, and what is compatible with them. Made for a reservation, so
 * each doubt goes to the safe side; a value that no provider accepts, such as a negative `max_tokens`,
 * counts as missing. What providers add by themselves, such as search results, cannot be seen.
 *
 * @throws InputError `invalid_body` when the body is no object, or of more than a million values.
 * @throws ConfigError When an option is unknown or malformed, or `count` returns no number.
 * @example
 * const { model, input, output } = estimateRequest(await request.clone().json())
 * await limiter.check(subject, { cost: { token: input + output } })
 */
export function estimateRequest(
  body: unknown,
  options: EstimateRequestOptions = {},
): RequestEstimate {
  return estimated(body, validOptions(options))
}

/** As `estimateRequest`, for options that are known to be valid. */
export function estimated(
  body: unknown,
  {
    count,
    defaultOutput = 4_096,
    imageTokens,
    unseenTokens = 20_000,
    inspect,
  }: EstimateTerms & { readonly inspect?: Inspect },
): RequestEstimate {
  if (!isObject(body)) {
    throw new InputError('invalid_body', 'body', 'must be a JSON object')
  }
  const named = own(body, 'model')
  const model = typeof named === 'string' ? named : undefined
  const perPrompt = Math.max(1, limitOf(body, 'n'), limitOf(body, 'best_of'))
  const answers = promptsOf(own(body, 'prompt')) * perPrompt
  const most = Math.max(
    limitOf(body, 'max_completion_tokens'),
    limitOf(body, 'max_output_tokens'),
    limitOf(body, 'max_tokens'),
  )
  return {
    model,
    input: Math.min(
      MAX_UNITS,
      inputTokens(body, model, { count, imageTokens, unseenTokens, inspect }),
    ),
    output: Math.min(MAX_UNITS, (most || defaultOutput) * answers),
  }
}

/** A legacy completion has answers of their own for each prompt of a list; one of numbers is a prompt. */
function promptsOf(prompt: unknown): number {
  const isList = Array.isArray(prompt) && prompt.some((item) => typeof item !== 'number')
  return isList ? prompt.length : 1
}

/** A maximum that a provider would accept, rounded up, else 0. Some read a number out of a string. */
function limitOf(body: Json, key: string): number {
  const value = own(body, key)
  return units(typeof value === 'string' ? Number(value) : value)
}

function validOptions(options: EstimateRequestOptions): EstimateRequestOptions {
  assertKnownOptions('estimateRequest', options, [
    'count',
    'defaultOutput',
    'imageTokens',
    'unseenTokens',
  ])
  const { count, defaultOutput = 1, imageTokens, unseenTokens = 1 } = options
  if (count !== undefined) assertFunction('estimateRequest.count', count)
  if (imageTokens !== undefined) assertPositiveInteger('estimateRequest.imageTokens', imageTokens)
  assertPositiveInteger('estimateRequest.defaultOutput', defaultOutput)
  assertPositiveInteger('estimateRequest.unseenTokens', unseenTokens)
  return options
}
