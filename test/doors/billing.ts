/* The bills of providers, by a price list and rules of their own: nothing here is of the packages. */

export type Json = Readonly<Record<string, unknown>>

/** The ways that providers are asked. */
export type Kind = 'chat' | 'responses' | 'completions' | 'embeddings' | 'messages'

/** A call as a provider gets it. */
export interface Call {
  readonly kind: Kind
  readonly vendor: string
  readonly body: Json
}

/** A call that a provider refuses, and does not bill. */
export class Invalid extends Error {}

/** The bill of a call. */
export interface Bill {
  readonly model: string
  readonly input: number
  /** Of the input: read from a cache, written to one, and written to one for an hour. */
  readonly cached: number
  readonly written: number
  readonly writtenLong: number
  readonly output: number
  /** Of the output. */
  readonly reasoning: number
  /** Answers, each of which has a part of the output. */
  readonly answers: number
  readonly tier: string
  readonly microDollars: number
}

/** Dollars per million tokens: input, cached input, output; written to a cache, and for an hour. */
type Price = readonly [input: number, cached: number, output: number, write?: number, hour?: number]

const PRICES: Readonly<Record<string, Price>> = {
  'gpt-4o': [2.5, 1.25, 10],
  'gpt-4o-mini': [0.15, 0.075, 0.6],
  'gpt-5.4': [2.5, 0.25, 15],
  'gpt-5.6-terra': [2, 0.2, 12, 2.5],
  'o4-mini': [1.1, 0.275, 4.4],
  'gpt-3.5-turbo-instruct': [1.5, 1.5, 2],
  'text-embedding-3-small': [0.02, 0.02, 0],
  'claude-opus-4-6': [5, 0.5, 25, 6.25, 10],
  'claude-sonnet-4-5': [3, 0.3, 15, 3.75, 6],
  'llama-3.3-70b-versatile': [0.59, 0.59, 0.79],
  'mistral-large-latest': [2, 2, 6],
  'deepseek-chat': [0.27, 0.07, 1.1],
  'grok-4': [3, 0.75, 15],
  'gemini-2.5-flash': [0.3, 0.075, 2.5],
  'command-a-03-2025': [2.5, 2.5, 10],
  sonar: [1, 1, 1],
  'kimi-k2': [0.6, 0.15, 2.5],
}

/** The prices of calls with a long input, and the tokens from which they hold. */
const LONG: Readonly<Record<string, readonly [above: number, ...Price]>> = {
  'gpt-5.4': [272_000, 5, 0.5, 22.5],
  'gpt-5.6-terra': [272_000, 4, 0.4, 18, 5],
  'claude-sonnet-4-5': [200_000, 6, 0.6, 22.5, 7.5, 12],
}

/** The tokens of what a provider has stored, of a file, and of a picture. */
const STORED = 300_000
const FILE = 50_000
const PICTURE = 765

/** The output of an answer that has no maximum. */
const UNLIMITED = 100_000

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const bytesOf = (value: unknown): number =>
  Buffer.byteLength(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** The most tokens that a value can have: one for each byte of its texts. */
function tokensIn(value: unknown): number {
  if (typeof value === 'string') return bytesOf(value)
  if (typeof value === 'number') return 1
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + tokensIn(one), 0)
  if (!isObject(value)) return 0
  const { type } = value
  if (type === 'item_reference' || (type === undefined && 'id' in value && !('role' in value))) {
    return STORED
  }
  if (typeof value['file_id'] === 'string') return STORED
  const { source } = value
  const spelledOut = isObject(source) && (source['type'] === 'text' || source['type'] === 'content')
  if (type === 'document' && spelledOut) return tokensIn(source['data'] ?? source['content'])
  if (type === 'image' || type === 'image_url' || type === 'input_image' || 'image_url' in value) {
    return PICTURE
  }
  if (/^(file|input_file|input_audio|audio|document|.*_url)$/.test(String(type))) return FILE
  const inside = Object.entries(value).filter(([name]) => name !== 'cache_control')
  return inside.reduce((sum, [, one]) => sum + tokensIn(one), 'role' in value ? 4 : 0)
}

const READ = ['messages', 'input', 'prompt', 'suffix', 'system', 'instructions'] as const
/** Fields whose JSON the model reads. */
const READ_AS_JSON = ['tools', 'functions', 'response_format', 'text', 'output_config'] as const

/** The tokens in which Claude is told of tools, beside those of the call. */
function addedForTools(tools: readonly unknown[]): number {
  if (tools.length === 0) return 0
  const types = tools.map((tool) => String(isObject(tool) ? tool['type'] : ''))
  const added = types.map((type) =>
    type.startsWith('bash')
      ? 245
      : type.startsWith('text_')
        ? 700
        : type.startsWith('comp')
          ? 1_234
          : 0,
  )
  return added.reduce((sum, one) => sum + one, 804)
}

function inputOf({ body }: Call, perByte: number): number {
  let bytes = 3
  for (const name of READ) bytes += tokensIn(body[name])
  for (const name of READ_AS_JSON) if (body[name] !== undefined) bytes += bytesOf(body[name])
  let tokens = Math.ceil(bytes * perByte)
  if (String(body['model']).includes('claude')) tokens += addedForTools(listOf(body['tools']))
  for (const name of ['previous_response_id', 'conversation', 'container']) {
    if (body[name] !== undefined && body[name] !== null) tokens += STORED
  }
  return tokens + listOf(body['mcp_servers']).length * FILE
}

const isReasoning = (model: string): boolean => /^(o\d|gpt-5)/.test(model)
const KNOWS_BOTH = /^(openai|azure|groq|xai|openrouter|together|local)$/

/** The most output of one answer, by the field that this provider reads. */
function maximumOf({ kind, vendor, body }: Call): number {
  const { max_tokens: old, max_completion_tokens: fresh, max_output_tokens: ofResponse } = body
  if (kind === 'embeddings') return 0
  if (kind === 'completions') return count('max_tokens', old, 16)
  if (kind === 'responses') return count('max_output_tokens', ofResponse, UNLIMITED)
  if (kind === 'messages') {
    if (old === undefined) throw new Invalid('max_tokens: Field required')
    return count('max_tokens', old, 0)
  }
  if (!KNOWS_BOTH.test(vendor)) return count('max_tokens', old, UNLIMITED)
  if (old !== undefined && vendor === 'openai' && isReasoning(String(body['model']))) {
    throw new Invalid("Unsupported parameter: 'max_tokens'")
  }
  return count('max_completion_tokens', fresh ?? old, UNLIMITED)
}

function count(name: string, value: unknown, otherwise: number): number {
  if (value === undefined || value === null) return otherwise
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value)
  throw new Invalid(`${name} must be a positive integer`)
}

/** Factors of the whole bill. */
function surcharge(body: Json): number {
  const tiers: Json = { priority: 2, fast: 2.5, flex: 0.5, auto: 2, scale: 1, on_demand: 1 }
  let factor = Number(tiers[String(body['service_tier'])] ?? 1)
  if (body['speed'] === 'fast') factor *= 6
  if (body['inference_geo'] === 'us') factor *= 1.1
  if (body['provider'] !== undefined) factor *= 2
  return factor
}

/** Fields that add a price to that of the tokens, in dollars. */
const ADDED: Readonly<Record<string, number>> = {
  web_search_options: 0.05,
  search_parameters: 0.125,
  plugins: 0.02,
  prediction: 0.1,
  audio: 0.2,
  background: 0.01,
  context_management: 0.1,
  compound_custom: 0.05,
  search_settings: 0.05,
  container: 0.05,
  skills: 0.05,
  mcp_servers: 0.01,
  agent_count: 0.5,
}

/** Returns true if the client runs a tool. */
const isOwn = (tool: unknown): boolean =>
  isObject(tool) &&
  /^(undefined|function|custom|local_shell|apply_patch|computer|(bash|text_editor|computer|memory)_\d+)$/.test(
    String(tool['type']),
  )

function dollarsBeside({ body }: Call): number {
  // Anthropic clears for free; a compaction is a call of its own.
  const isFree = JSON.stringify(body['context_management'] ?? '').includes('"clear_tool_uses_')
  const added = Object.entries(ADDED).filter(
    ([name]) => body[name] && !isEmpty(body[name]) && !(isFree && name === 'context_management'),
  )
  const run = listOf(body['tools']).filter((tool) => !isOwn(tool))
  const spoken = listOf(body['modalities']).includes('audio') ? 0.2 : 0
  return added.reduce((sum, [, price]) => sum + price, run.length * 0.05 + spoken)
}

/**
 * The bill of a call that is answered.
 *
 * @param dearest True for the dearest that the call can be: a token a byte, all input written to a cache.
 * @throws Invalid When the provider refuses the call.
 */
export function billOf(call: Call, dearest: boolean): Bill {
  const { kind, vendor, body } = call
  const models = [body['model'], ...listOf(body['models']), ...listOf(body['fallbacks'])].map(
    String,
  )
  const model = models.at(-1) as string
  const base = PRICES[model.replace(/^[a-z-]+\//, '')]
  if (base === undefined) throw new Invalid(`The model ${model} does not exist`)

  if (Number(body['temperature']) > 2) throw new Invalid('temperature must be at most 2')
  const maximum = maximumOf(call)
  const thinking = isObject(body['thinking']) ? Number(body['thinking']['budget_tokens'] ?? 0) : 0
  if (thinking >= maximum && thinking > 0) throw new Invalid('max_tokens must exceed budget_tokens')
  const answers = count('n', body['n'], 1)
  const written = Math.max(answers, count('best_of', body['best_of'], 1))
  if (Math.max(answers, written) > 128) throw new Invalid('n must be at most 128')
  // Several models think in parallel.
  const runs = isObject(body['reasoning']) && body['reasoning']['mode'] === 'pro' ? 4 : 1
  const output = maximum * written * runs
  const input = inputOf(call, dearest ? 1 : 0.25) * runs

  // Anthropic caches what it is asked to; others on their own.
  const text = JSON.stringify(body)
  const isCached = kind === 'messages' ? text.includes('"cache_control"') : kind !== 'embeddings'
  const hasWrites = base[3] !== undefined && isCached
  const cacheWrite = hasWrites ? (dearest ? input : Math.floor(input / 3)) : 0
  const isLong = hasWrites && base[4] !== undefined && text.includes('"1h"')
  const hasReads = isCached && base[1] < base[0] && !/^(mistral|cohere|perplexity)$/.test(vendor)
  const cached = !dearest && hasReads ? Math.floor(input / 4) : 0

  const [above, ...long] = LONG[model] ?? [Infinity]
  const [perInput, perCached, perOutput, perWrite = perInput, perHour = perWrite] =
    input > above ? (long as unknown as Price) : base
  const tokens =
    (input - cached - cacheWrite) * perInput +
    cached * perCached +
    cacheWrite * (isLong ? perHour : perWrite) +
    output * perOutput
  // The tier of `auto` is what the project is set to.
  const { service_tier: tier = 'default' } = body as { readonly service_tier?: string }
  // Products of prices in cents and whole tokens: what is beyond a billionth is of the arithmetic.
  const microDollars = tokens * surcharge(body) + dollarsBeside(call) * 1e6
  return {
    model,
    input,
    cached,
    written: cacheWrite,
    writtenLong: isLong ? cacheWrite : 0,
    output,
    reasoning: kind === 'embeddings' ? 0 : Math.max(0, output - 2 * answers),
    answers,
    tier: tier === 'auto' ? 'priority' : tier,
    microDollars: Math.ceil(Number(microDollars.toFixed(6))),
  }
}
