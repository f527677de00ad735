import { MAX_UNITS } from '@sluice/core/internal'
import type { ReportedUsage } from './format.ts'
import { isObject, objectOf, objectsIn, type Json } from '../json.ts'
import type { ModelUsage } from '../usage.ts'

/** A usage in numbers, each 0 if it is not reported. */
export type Numbers = Omit<ModelUsage, 'model'>

export const NO_NUMBERS: Numbers = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  longCacheWrite: 0,
  output: 0,
}

/** Combines two usages, number by number. */
export function combineNumbers(
  one: Partial<Numbers>,
  other: Partial<Numbers>,
  combine: (a: number, b: number) => number,
): Numbers {
  const numbers: Record<string, number> = { ...NO_NUMBERS }
  for (const name in numbers) {
    numbers[name] = combine(units(one[name as keyof Numbers]), units(other[name as keyof Numbers]))
  }
  return numbers as unknown as Numbers
}

/**
 * Reads a usage as OpenAI, Anthropic, Bedrock and those like them write it.
 *
 * @param answer The object around it, in which OpenAI names the service tier. Anthropic names it in the usage.
 */
export function reportedIn(usage: unknown, answer?: Json): ReportedUsage | undefined {
  if (!isObject(usage)) return undefined
  const { iterations, speed, service_tier: named } = usage
  const tier = speed === 'fast' ? speed : (answer?.['service_tier'] ?? named)
  // OpenRouter writes the dollars themselves, Perplexity an object with their sum.
  const dollars = objectOf(usage['cost'])['total_cost'] ?? usage['cost']
  const cost = units(Number(dollars) * 1e6)
  // Anthropic's sum leaves out what compacting the conversation used, and what an advisor did, a model of its own.
  const outside = objectsIn(iterations)
    .filter(({ type }) => /^(compaction|advisor_message)$/.test(String(type)))
    .map((one) => Object.assign({ model: one['model'] }, NO_NUMBERS, numbersIn(one)))
  const otherModels = outside.filter((one): one is ModelUsage => typeof one.model === 'string')
  return {
    ...outside.reduce<Partial<Numbers>>(
      (sum, one) => combineNumbers(sum, one, (a, b) => a + b),
      numbersIn(usage),
    ),
    ...(cost > 0 && { cost }),
    ...(typeof tier === 'string' && { tier }),
    ...(otherModels.length > 0 && { otherModels }),
  }
}

/** Reads the numbers. Leaves the output out if it is not reported. */
function numbersIn(usage: Json): Partial<Numbers> {
  const first = (...names: string[]): unknown => names.map((name) => usage[name]).find(isCount)
  const details = objectOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details'])
  const read = units(first('cache_read_input_tokens', 'cacheReadInputTokens'))
  const write = units(first('cache_creation_input_tokens', 'cacheWriteInputTokens'))
  // DeepSeek and Moonshot report what was read beside the details.
  const cachedInput =
    read || units(details['cached_tokens'] ?? first('prompt_cache_hit_tokens', 'cached_tokens'))
  const cacheWrite = write || units(details['cache_write_tokens'])
  const reportedInput = units(first('prompt_tokens', 'input_tokens', 'inputTokens'))
  // Anthropic and Bedrock report the input without the cache, unless the same tokens were read and written.
  // So does anyone whose input is less than the cache.
  const isBeside =
    (!isCount(usage['prompt_tokens']) && read !== write) ||
    Math.max(cachedInput, cacheWrite) > reportedInput
  const input = reportedInput + (isBeside ? cachedInput + cacheWrite : 0)
  const completion = first('completion_tokens', 'output_tokens', 'outputTokens')
  // Some providers report reasoning only in the total.
  const rest = reportedInput > 0 ? units(usage['total_tokens']) - input : -1
  return {
    input,
    // Tokens that are reported as read and as written were written.
    cachedInput: Math.min(cachedInput, Math.max(0, input - cacheWrite)),
    cacheWrite,
    longCacheWrite: Math.max(
      units(objectOf(usage['cache_creation'])['ephemeral_1h_input_tokens']),
      units(objectOf(details['cache_write_tokens_details'])['ttl_12h_tokens']),
    ),
    ...((completion !== undefined || rest >= 0) && { output: Math.max(units(completion), rest) }),
  }
}

export function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

/** Parses a token count. Anything else is 0. */
export function units(value: unknown): number {
  return isCount(value) ? Math.min(MAX_UNITS, Math.ceil(value)) : 0
}
