/* The units of a call: tokens and money, of its input and of its output. */
import { InputError } from '@sluice/core'
import { MAX_UNITS } from '@sluice/core/validation'
import { objectOf, type Json } from '../json.ts'
import { isClaude } from '../model-name.ts'
import { findPrice, priceOf, type Priced, type Prices } from '../prices.ts'
import { estimateRequest, type EstimateRequestOptions, type RequestEstimate } from '../request.ts'
import { CLAUDE_TOOLS } from '../request-input.ts'

/** The parts of the options that say how to count the input. */
export interface InputTerms extends Omit<EstimateRequestOptions, 'defaultOutput'> {
  /**
   * The input to reserve: an `estimate` of its tokens, or a `bound` that they cannot exceed, which is the
   * length of the body in bytes. With `bound`, what has no bound, such as images and files, is refused
   * with 400, and a budget is never exceeded. @default 'estimate'
   */
  readonly input?: 'estimate' | 'bound'
}

/** Units by name: `token`, `input_token`, `output_token`, and `usd` if there are prices. */
export type Units = Readonly<Record<string, number>>

/** The units that a call may use. */
export interface CallUnits {
  /** Of all its input and output. */
  readonly cost: Units
  /** Of its input alone. */
  readonly inputCost: Units
  /** Of a million output tokens, at the highest price that the call can reach. */
  readonly outputRates: Units
}

/** Returns the units of a call that uses so much. */
function costOf(model: string, usage: Priced, prices: Prices | undefined): Units {
  const { input, output } = usage
  // A cost above what can be counted would be an error, and not too much for the budgets.
  const token = Math.min(MAX_UNITS, input + output)
  const tokens = { token, input_token: input, output_token: output }
  return prices ? { ...tokens, usd: priceOf(usage, model, prices) } : tokens
}

/**
 * Returns the units of a call that uses at most `most`.
 *
 * @param reach The most input tokens that the call can have: beyond a length, a price may be higher.
 */
export function unitsOfCall(
  model: string,
  most: Priced,
  reach: number,
  prices: Prices | undefined,
): CallUnits {
  const rates = { token: 1_000_000, output_token: 1_000_000 }
  return {
    cost: costOf(model, most, prices),
    inputCost: costOf(model, { ...most, output: 0 }, prices),
    outputRates: prices ? { ...rates, usd: outputRate(model, reach, prices) } : rates,
  }
}

function outputRate(model: string, reach: number, prices: Prices): number {
  const { output, long } = findPrice(model, prices)
  return long && reach > long.above ? Math.max(output, long.output) : output
}

/** Tokens that providers add to a call, beside those of its JSON: a few for each message, and a preamble. */
const TEMPLATE_TOKENS = 128

/** More tokens than any call has. */
const NO_BOUND = 100_000_000_000

/**
 * Returns the tokens of a body of `bytes` bytes: estimated, or bounded. A text has no more tokens than
 * bytes in UTF-8, and the JSON around a message is longer than what a template adds to it.
 *
 * @throws InputError `invalid_body` when something in the body has no bound.
 */
export function tokensOf(body: Json, bytes: number, terms: InputTerms): RequestEstimate {
  const { count, imageTokens, unseenTokens } = terms
  if (terms.input === 'bound') {
    const unbounded = { count: () => 0, imageTokens: NO_BOUND, unseenTokens: NO_BOUND }
    const bounded = estimateRequest(body, unbounded)
    if (bounded.input >= NO_BOUND || hasReference(body)) {
      const message = 'must not have images, files or references: they have no bound'
      throw new InputError('invalid_body', 'body', message)
    }
    const ofTools = isClaude(bounded.model) ? (body['tools'] ? CLAUDE_OWN_TOOLS : CLAUDE_TOOLS) : 0
    return { ...bounded, input: bytes + TEMPLATE_TOKENS + ofTools }
  }
  return estimateRequest(body, {
    ...(count && { count }),
    ...(imageTokens !== undefined && { imageTokens }),
    ...(unseenTokens !== undefined && { unseenTokens }),
  })
}

/**
 * More than Anthropic adds for all tools that it defines, whose names are unique: 804 for any, 245 for `bash`,
 * 700 for an editor, 735 for `computer` and 499 for its prompt.
 */
const CLAUDE_OWN_TOOLS = 4_096

/** Items of OpenAI's responses that hold what they say. All others may name something by its id. */
const WHOLE_ITEM = /^(message|(function|custom_tool)_call)/

/** Returns true if an item of the input may stand for something that OpenAI has stored. */
const hasReference = ({ input }: Json): boolean =>
  Array.isArray(input) &&
  input.map(objectOf).some(({ type = 'message', encrypted_content: encrypted }) =>
    // Without its encrypted content, reasoning is what OpenAI finds under its id.
    type === 'reasoning' ? !encrypted : !WHOLE_ITEM.test(type as string),
  )

/** Returns the length of a text in UTF-8. */
export const byteLength = (text: string): number => new TextEncoder().encode(text).length
