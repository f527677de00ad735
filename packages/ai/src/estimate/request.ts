import {
  assertFunction,
  assertOptionRules,
  assertPositiveInteger,
  type OptionRules,
} from '@sluice/core/internal'
import { estimated, type EstimateRequestOptions, type RequestEstimate } from './estimate.ts'
import { invalidBody } from './invalid-body.ts'
import { isObject } from '../json.ts'

/**
 * The tokens that a request may use, from its parsed JSON body: OpenAI's chat completions, responses and
 * legacy completions, Anthropic's messages, and what is compatible with them. Made for a reservation, so
 * each doubt goes to the safe side; a value that no provider accepts, such as a negative `max_tokens`,
 * counts as missing. Additions of providers, such as search results, cannot be seen.
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
  assertOptionRules('estimateRequest', options, RULES)
  if (!isObject(body)) throw invalidBody('must be a JSON object')
  return estimated(body, options)
}

const RULES: OptionRules<EstimateRequestOptions> = {
  count: assertFunction,
  defaultOutput: assertPositiveInteger,
  imageTokens: assertPositiveInteger,
  unseenTokens: assertPositiveInteger,
}
