import { ConfigError, InputError } from '../errors.ts'
import { aFunction, knownOptions, MAX_UNITS, positiveInteger } from '../validate.ts'
import { CLAUDE_IMAGE_TOKENS, openAiImageTokens } from './images.ts'
import { isClaude } from './model-name.ts'
import { CLAUDE_FACTOR, estimateTokens } from './tokens.ts'

/** What a request may use. */
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

/** A body of more values than this is refused; one of a megabyte has some ten thousand. */
const MAX_VALUES = 1_000_000

/** The role, the separators, and what begins the answer: 3 to 4 in OpenAI's chat format. */
const PER_ITEM = 4
const PER_REQUEST = 3
/** What Anthropic adds where there are tools, at most: its page of prices, as of 2026-07. */
const CLAUDE_TOOLS = 804

/** Parameters that the model does not read. */
const NOT_READ: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'audio background include logit_bias max_completion_tokens max_output_tokens max_tokens metadata modalities model n best_of prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier stop stop_sequences store stream stream_options thinking user verbosity'.split(
    ' ',
  ),
)
/** What is said: these hold texts, the others data that is sent as JSON. */
const TEXTS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  'messages',
  'input',
  'instructions',
  'system',
  'prompt',
])
/** Parts of a message that are not sent as text. */
const NOT_SAID: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'type role id call_id tool_call_id tool_use_id cache_control prompt_cache_breakpoint status signature detail media_type'.split(
    ' ',
  ),
)
/** Where the picture of a part of this type is. */
const PICTURE_IN: ReadonlyMap<unknown, string> = /* @__PURE__ */ new Map([
  ['image_url', 'image_url'],
  ['input_image', 'image_url'],
  ['computer_screenshot', 'image_url'],
  ['image', 'source'],
])
/** Where that is of which only the provider knows how much it is. */
const UNSEEN_IN: ReadonlyMap<unknown, readonly string[]> = /* @__PURE__ */ new Map([
  ['file', ['file']],
  ['input_file', ['file_data', 'file_id', 'file_url']],
  ['input_audio', ['input_audio']],
  ['video_url', ['video_url']],
  ['document', ['source']],
  ['container_upload', ['file_id']],
  ['item_reference', ['id']],
])
const UNSEEN_PARAMETERS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  'previous_response_id',
  'conversation',
  'mcp_servers',
])

type Json = Readonly<Record<string, unknown>>

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
  const settings = validOptions(options)
  if (!isObject(body)) {
    throw new InputError('invalid_body', 'body', 'must be the parsed JSON object of a request')
  }
  const named = own(body, 'model')
  const model = typeof named === 'string' ? named : undefined
  const answers = Math.max(1, limitOf(body, 'n'), limitOf(body, 'best_of'))
  const most = Math.max(
    limitOf(body, 'max_completion_tokens'),
    limitOf(body, 'max_output_tokens'),
    limitOf(body, 'max_tokens'),
  )
  return {
    model,
    input: Math.min(MAX_UNITS, inputTokens(body, model, settings)),
    output: Math.min(MAX_UNITS, (most || settings.defaultOutput) * answers),
  }
}

function inputTokens(body: Json, model: string | undefined, settings: Settings): number {
  const factor = isClaude(model) && settings.count === undefined ? CLAUDE_FACTOR : 1
  const count = settings.count ?? estimateTokens
  let text = PER_REQUEST
  let other = 0
  let values = 0
  // Not recursive: a body may nest as deeply as it is long.
  const texts: unknown[] = []
  const data: unknown[] = []

  const said = (part: Json): void => {
    const type = own(part, 'type')
    if (type !== 'text') text += PER_ITEM
    const picture = PICTURE_IN.get(type)
    const unseen = UNSEEN_IN.get(type)?.find((key) => Object.hasOwn(part, key))
    // A document may be plain text, or parts like those of a message.
    const plain = type === 'document' && isSpelledOut(own(part, 'source'))
    if (picture !== undefined && Object.hasOwn(part, picture)) {
      other += settings.imageTokens ?? pictureTokens(part, model)
    } else if (unseen !== undefined && !plain) other += settings.unseenTokens
    for (const key of Object.keys(part)) {
      if (NOT_SAID.has(key) || key === picture || (key === unseen && !plain)) continue
      // What a tool was called with is sent as JSON.
      ;(key === 'input' ? data : texts).push(part[key])
    }
  }
  const sent = (value: unknown): void => {
    if (typeof value === 'string') text += counted(count, value) + 1
    else if (typeof value !== 'object' || value === null) text += String(value).length
    else if (Array.isArray(value)) {
      text += 2
      for (const item of value) data.push(item)
    } else {
      text += 2
      for (const key of Object.keys(value)) {
        text += counted(count, key) + 1
        data.push((value as Json)[key])
      }
    }
  }

  for (const key of Object.keys(body)) {
    const value = body[key]
    if (UNSEEN_PARAMETERS.has(key) && value !== null && value !== undefined) {
      other += settings.unseenTokens
    } else if (key === 'prompt' && isObject(value)) {
      other += settings.unseenTokens
      data.push(value)
    } else if (TEXTS.has(key)) texts.push(value)
    else if (!NOT_READ.has(key)) data.push(value)
  }
  if (isClaude(model) && isFilled(own(body, 'tools'))) other += CLAUDE_TOOLS
  while (texts.length > 0 || data.length > 0) {
    values += 1
    if (values > MAX_VALUES) {
      throw new InputError('invalid_body', 'body', `must hold at most ${MAX_VALUES} values`)
    }
    if (data.length > 0) {
      sent(data.pop())
      continue
    }
    const value = texts.pop()
    if (typeof value === 'string') text += counted(count, value)
    // A legacy prompt may be a list of token numbers.
    else if (typeof value === 'number') text += 1
    else if (Array.isArray(value)) for (const item of value) texts.push(item)
    else if (isObject(value)) said(value)
  }
  return Math.ceil(text * factor) + other
}

function pictureTokens(part: Json, model: string | undefined): number {
  if (own(part, 'type') === 'image' || isClaude(model)) return CLAUDE_IMAGE_TOKENS
  const image = own(part, 'image_url')
  return openAiImageTokens(model, isObject(image) ? own(image, 'detail') : own(part, 'detail'))
}

function isSpelledOut(source: unknown): boolean {
  const type = isObject(source) ? own(source, 'type') : undefined
  return type === 'text' || type === 'content'
}

function isFilled(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

/** A maximum that a provider would accept, rounded up, else 0. Some read a number out of a string. */
function limitOf(body: Json, key: string): number {
  const value = own(body, key)
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && number > 0 ? Math.min(MAX_UNITS, Math.ceil(number)) : 0
}

function counted(count: (text: string) => number, text: string): number {
  const tokens = count(text)
  if (typeof tokens === 'number' && tokens >= 0 && tokens <= MAX_UNITS) return tokens
  throw new ConfigError('invalid_option', 'estimateRequest.count', 'must return a number of tokens')
}

interface Settings {
  readonly count: ((text: string) => number) | undefined
  readonly defaultOutput: number
  readonly imageTokens: number | undefined
  readonly unseenTokens: number
}

function validOptions(options: EstimateRequestOptions): Settings {
  knownOptions('estimateRequest', options, [
    'count',
    'defaultOutput',
    'imageTokens',
    'unseenTokens',
  ])
  const { count, defaultOutput = 4_096, imageTokens, unseenTokens = 20_000 } = options
  if (count !== undefined) aFunction('estimateRequest.count', count)
  if (imageTokens !== undefined) positiveInteger('estimateRequest.imageTokens', imageTokens)
  positiveInteger('estimateRequest.defaultOutput', defaultOutput)
  positiveInteger('estimateRequest.unseenTokens', unseenTokens)
  return { count, defaultOutput, imageTokens, unseenTokens }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function own(object: Json, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}
