import { ConfigError, InputError } from '@sluice/core'
import { MAX_UNITS } from '@sluice/core/validation'
import { CLAUDE_IMAGE_TOKENS, openAiImageTokens } from './images.ts'
import { isObject, objectOf, own, type Json } from './json.ts'
import { isClaude } from './model-name.ts'
import { isCount } from './provider-usage.ts'
import { CLAUDE_FACTOR, estimateTokens } from './tokens.ts'

/** The options of `estimateRequest`, completed. */
export interface EstimateSettings {
  readonly count: ((text: string) => number) | undefined
  readonly defaultOutput: number
  readonly imageTokens: number | undefined
  readonly unseenTokens: number
}

/** A body of more values than this is refused; one of a megabyte has some ten thousand. */
const MAX_VALUES = 1_000_000

/** The role, the separators, and what begins the answer: 3 to 4 in OpenAI's chat format. */
const PER_ITEM = 4
const PER_REQUEST = 3
/** The most tokens that Anthropic adds where there are tools: its page of prices, as of 2026-07. */
const CLAUDE_TOOLS = 804

/** Parameters that the model does not read. */
const NOT_READ: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'audio background conversation include logit_bias max_completion_tokens max_output_tokens max_tokens mcp_servers metadata modalities model n best_of previous_response_id prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier stop stop_sequences store stream stream_options thinking user verbosity'.split(
    ' ',
  ),
)
/** Names of fields that hold texts; the others hold data that is sent as JSON. */
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
/** Finds the picture in a part of this type. */
const PICTURE_IN: Places = /* @__PURE__ */ new Map([
  ['image_url', ['image_url']],
  ['input_image', ['image_url', 'file_id']],
  ['computer_screenshot', ['image_url', 'file_id']],
  ['image', ['source']],
])
/** Finds input whose size only the provider knows. */
const UNSEEN_IN: Places = /* @__PURE__ */ new Map([
  ['file', ['file']],
  ['input_file', ['file_data', 'file_id', 'file_url']],
  ['input_audio', ['input_audio']],
  ['audio_url', ['audio_url']],
  ['document_url', ['document_url']],
  ['video_url', ['video_url']],
  ['document', ['source']],
  ['container_upload', ['file_id']],
  ['item_reference', ['id']],
])
/** The number of things of that kind that a parameter brings in. */
const UNSEEN_PARAMETERS: ReadonlyMap<string, (value: unknown) => number> = /* @__PURE__ */ new Map([
  ['previous_response_id', given],
  ['conversation', given],
  ['mcp_servers', (value: unknown) => (Array.isArray(value) ? value.length : given(value))],
  ['tools', (value: unknown) => (Array.isArray(value) ? value.filter(isMcp).length : 0)],
])

type Places = ReadonlyMap<unknown, readonly string[]>

/** The input tokens of a body: what is said in it, its data, and what it brings in besides. */
export function inputTokens(
  body: Json,
  model: string | undefined,
  settings: EstimateSettings,
): number {
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
    const picture = placeIn(part, PICTURE_IN)
    // A document may be plain text, or parts like those of a message.
    const plain = type === 'document' && isSpelledOut(own(part, 'source'))
    const unseen = plain ? undefined : (placeIn(part, UNSEEN_IN) ?? referenceIn(part))
    if (picture !== undefined) other += settings.imageTokens ?? pictureTokens(part, model)
    else if (unseen !== undefined) other += settings.unseenTokens
    for (const key of Object.keys(part)) {
      if (NOT_SAID.has(key) || key === picture || key === unseen) continue
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
    other += (UNSEEN_PARAMETERS.get(key)?.(value) ?? 0) * settings.unseenTokens
    if (TEXTS.has(key)) texts.push(value)
    else if (!NOT_READ.has(key)) data.push(value)
  }
  const tools = own(body, 'tools')
  if (isClaude(model) && Array.isArray(tools) && tools.length > 0) other += CLAUDE_TOOLS
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

function placeIn(part: Json, places: Places): string | undefined {
  return places.get(own(part, 'type'))?.find((key) => Object.hasOwn(part, key))
}

/** A stored prompt, or an item that is named by its id: it may leave out its type. */
function referenceIn(part: Json): string | undefined {
  const isOther = ['role', 'content'].some((key) => Object.hasOwn(part, key))
  return !isOther && Object.hasOwn(part, 'id') && !own(part, 'type') ? 'id' : undefined
}

function pictureTokens(part: Json, model: string | undefined): number {
  if (own(part, 'type') === 'image' || isClaude(model)) return CLAUDE_IMAGE_TOKENS
  const image = own(part, 'image_url')
  return openAiImageTokens(model, own(isObject(image) ? image : part, 'detail'))
}

function isSpelledOut(source: unknown): boolean {
  const { type } = objectOf(source)
  return type === 'text' || type === 'content'
}

/** OpenAI's way to name an MCP server; the model reads what tools it has. */
function isMcp(tool: unknown): boolean {
  return objectOf(tool)['type'] === 'mcp'
}

function given(value: unknown): number {
  return value === null || value === undefined ? 0 : 1
}

function counted(count: (text: string) => number, text: string): number {
  const tokens = count(text)
  if (isCount(tokens) && tokens <= MAX_UNITS) return tokens
  throw new ConfigError('invalid_option', 'estimateRequest.count', 'must return a number of tokens')
}
