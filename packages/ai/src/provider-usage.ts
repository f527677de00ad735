import { MAX_UNITS } from '@sluice/core/validation'
import { isObject, objectOf, type Json } from './json.ts'

/** A usage in numbers, each 0 where it is not told. */
export interface Numbers {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly longCacheWrite: number
  readonly output: number
}

export const NO_NUMBERS: Numbers = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  longCacheWrite: 0,
  output: 0,
}

/** The numbers of both, each made of the two by `how`. */
export function combined(
  one: Numbers,
  other: Numbers,
  how: (a: number, b: number) => number,
): Numbers {
  const names = Object.keys(NO_NUMBERS) as (keyof Numbers)[]
  const pairs = names.map((name) => [name, how(one[name], other[name])] as const)
  return Object.fromEntries(pairs) as unknown as Numbers
}

/** The numbers of a usage as OpenAI, Anthropic, Bedrock and those like them write it, and whether the output is told. */
export function numbersIn(usage: Json): { numbers: Numbers; isTold: boolean } {
  const first = (...names: string[]): unknown => names.map((name) => usage[name]).find(isCount)
  const details = objectOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details'])
  const read = units(first('cache_read_input_tokens', 'cacheReadInputTokens'))
  const write = units(first('cache_creation_input_tokens', 'cacheWriteInputTokens'))
  const cachedInput = read || units(details['cached_tokens'])
  const cacheWrite = write || units(details['cache_write_tokens'])
  const told = units(first('prompt_tokens', 'input_tokens', 'inputTokens'))
  // Anthropic's and Bedrock's input is that beside the cache, and so is any that is less than it.
  const isBeside =
    (!isCount(usage['prompt_tokens']) && read + write > 0) ||
    Math.max(cachedInput, cacheWrite) > told
  const input = told + (isBeside ? cachedInput + cacheWrite : 0)
  const completion = first('completion_tokens', 'output_tokens', 'outputTokens')
  // Some providers tell reasoning only in the total.
  const rest = told > 0 ? units(usage['total_tokens']) - input : -1
  const own = {
    input,
    // The same tokens may be told as read and as written; then they were written.
    cachedInput: Math.min(cachedInput, Math.max(0, input - cacheWrite)),
    cacheWrite,
    longCacheWrite: Math.max(
      units(objectOf(usage['cache_creation'])['ephemeral_1h_input_tokens']),
      units(objectOf(details['cache_write_tokens_details'])['ttl_12h_tokens']),
    ),
    output: Math.max(units(completion), rest),
  }
  return {
    numbers: besides(usage).reduce((sum, more) => combined(sum, more, plus), own),
    isTold: completion !== undefined || rest >= 0,
  }
}

/** Anthropic's sum leaves out the tokens that compacting a conversation used. */
function besides({ iterations }: Json): Numbers[] {
  const list: unknown[] = Array.isArray(iterations) ? iterations : []
  const compactions = list.filter(isObject).filter(({ type }) => type === 'compaction')
  return compactions.map((one) => numbersIn(one).numbers)
}

/** Reads dollars as OpenRouter tells them (`cost`), or Perplexity (`cost.total_cost`), in micro-dollars. */
export function dollarsIn(cost: unknown): number {
  const dollars = isObject(cost) ? cost['total_cost'] : cost
  return isCount(dollars) ? units(dollars * 1e6) : 0
}

const plus = (a: number, b: number): number => a + b

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

/** A number of tokens; what is none counts as 0. */
export function units(value: unknown): number {
  return isCount(value) ? Math.min(MAX_UNITS, Math.ceil(value)) : 0
}
