import { MAX_UNITS } from '@sluice/core/internal'
import { own, type Json } from '../json.ts'
import { units } from '../formats/provider-usage.ts'
import { inputTokens, type Inspect } from './request-input.ts'

/** The fields that hold a maximum, in one format or another. */
export const MAXIMA: readonly string[] = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
]

/** The most that a request may use. */
export interface RequestEstimate {
  /** The model that the body names. */
  readonly model: string | undefined
  /** Input tokens, estimated. */
  readonly input: number
  /** The most output tokens that the body allows, over all the answers that it asks for. */
  readonly output: number
}

/** Options of `estimateRequest`: how to count, and what to assume where a body does not say. */
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

/** As `estimateRequest`, for options that are known to be valid. */
export function estimated(
  body: Json,
  {
    count,
    defaultOutput = 4_096,
    imageTokens,
    unseenTokens = 20_000,
    inspect,
  }: EstimateTerms & { readonly inspect?: Inspect },
): RequestEstimate {
  const named = own(body, 'model')
  const model = typeof named === 'string' ? named : undefined
  const answers = promptsOf(own(body, 'prompt')) * Math.max(1, limitOf(body, ['n', 'best_of']))
  const most = limitOf(body, MAXIMA)
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

/** The largest that a provider would accept, rounded up, else 0. Some read a number out of a string. */
function limitOf(body: Json, keys: readonly string[]): number {
  const values = keys.map((key) => own(body, key))
  return Math.max(...values.map((one) => units(typeof one === 'string' ? Number(one) : one)))
}
