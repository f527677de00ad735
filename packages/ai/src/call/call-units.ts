/* The units of a call: tokens and money, of its input and of its output. */
import { MAX_UNITS } from '@sluice/core/internal'
import type { Json } from '../json.ts'
import type { PricedUsage, Prices } from '../prices/prices.ts'
import {
  estimated,
  type EstimateRequestOptions,
  type RequestEstimate,
} from '../estimate/estimate.ts'
import type { CountInput } from './bound-input.ts'
import { hiddenInput, type HiddenTerms } from './hidden-input.ts'

/** The parts of the options that say how to count the input. */
export interface InputTerms extends Omit<EstimateRequestOptions, 'defaultOutput' | 'unseenTokens'> {
  /**
   * Allows sounds, files by id or address, earlier answers and stored prompts, whose tokens only the provider sees, and
   * counts each as so many. Files in the body itself count as many, too.
   *
   * @default such references are refused with 400; what is in the body counts as 20_000
   */
  readonly unseenTokens?: number
  /**
   * Counts the input to reserve. `boundInput` returns a number that it cannot exceed, and refuses with 400
   * what has no bound, such as images and files. A budget is never exceeded then.
   *
   * @default an estimate of the tokens
   */
  readonly input?: CountInput
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
function costOf(model: string, usage: PricedUsage, prices: Prices | undefined): Units {
  const { input, output } = usage
  // A cost above what can be counted would be an error, and not too much for the budgets.
  const token = Math.min(MAX_UNITS, input + output)
  const tokens = { token, input_token: input, output_token: output }
  return prices ? { ...tokens, usd: prices.priceOf(usage, model) } : tokens
}

/**
 * Returns the units of a call that uses at most `most`.
 *
 * @param reach The most input tokens that the call can have: beyond a length, a price may be higher.
 */
export function unitsOfCall(
  model: string,
  most: PricedUsage,
  reach: number,
  prices: Prices | undefined,
): CallUnits {
  const rates = { token: 1_000_000, output_token: 1_000_000 }
  return {
    cost: costOf(model, most, prices),
    inputCost: costOf(model, { ...most, output: 0 }, prices),
    outputRates: prices ? { ...rates, usd: outputRate(model, reach, prices, most.tier) } : rates,
  }
}

function outputRate(
  model: string,
  reach: number,
  prices: Prices,
  tier: string | undefined,
): number {
  const { output, long } = prices.findPrice(model, tier)
  return long && reach > long.above ? Math.max(output, long.output) : output
}

/**
 * Returns the tokens of a body of `bytes` bytes.
 *
 * @throws InputError `invalid_body` When it has hidden input, or as the option `input` does.
 */
export function tokensOf(
  body: Json,
  bytes: number,
  terms: HiddenTerms & InputTerms,
): RequestEstimate {
  const estimate = estimated(body, { ...terms, inspect: hiddenInput(terms) })
  return terms.input ? { ...estimate, input: terms.input(body, bytes) } : estimate
}
