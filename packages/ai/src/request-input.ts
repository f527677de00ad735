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
  readonly imageTokens: number | undefined
  readonly unseenTokens: number
  /** Called for each part of the input, with the field by which it names input that is stored elsewhere. */
  readonly inspect?: Inspect | undefined
}

/** Looks at a part of the input, and throws where it may not be sent. */
export type Inspect = (part: Json, reference: string | undefined) => void

/** A body of more values than this is refused; one of a megabyte has some ten thousand. */
const MAX_VALUES = 1_000_000

/** The role, the separators, and what begins the answer: 3 to 4 in OpenAI's chat format. */
const PER_ITEM = 4
const PER_REQUEST = 3
/** The most tokens that Anthropic adds where there are tools: its page of prices, as of 2026-07. */
const CLAUDE_TOOLS = 804

/** Parameters that the model does not read. */
const NOT_READ: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'audio background conversation include logit_bias max_completion_tokens max_output_tokens max_tokens mcp_servers metadata modalities model n best_of previous_response_id prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier stop stop_sequences store stream stream_options thinking thread user verbosity'.split(
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
/** Types of parts that are pictures, however they name them. */
const PICTURE = /^(image(_url)?|input_image|computer_screenshot)$/
/** Fields that name input by its id or address. */
const STORED = /^(file_id|(file|pdf|audio|video|document)_url)$/
/** Fields of parts that are no text. */
const MEDIA = /^(source|(input_)?audio|file(_data|_id)?|(image|file|pdf|audio|video|document)_url)$/
/** Types of parts that name where an answer was found. */
const CITATION = /(citation|location|path)$/
/** Parameters that bring in what is stored. */
const STORED_PARAMETER = /^(previous_response_id|conversation|thread)$/

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
    const isPicture =
      isGiven(part['image_url']) || (PICTURE.test(textOf(type)) && Object.keys(part).length > 1)
    const reference = isPicture ? undefined : referenceIn(part)
    settings.inspect?.(part, reference)
    const isMedia = isPicture || reference !== undefined || isInline(part)
    if (isPicture) other += settings.imageTokens ?? pictureTokens(part, model)
    else if (isMedia) other += settings.unseenTokens
    for (const key of Object.keys(part)) {
      if (NOT_SAID.has(key) || (isMedia && MEDIA.test(key))) continue
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
    const isPrompt = key === 'prompt' && isObject(value)
    if (isPrompt || (STORED_PARAMETER.test(key) && isGiven(value))) {
      settings.inspect?.(body, key)
      other += settings.unseenTokens
    }
    if (key === 'mcp_servers' || key === 'tools') {
      other += serversIn(key, value) * settings.unseenTokens
    }
    if (TEXTS.has(key)) texts.push(isPrompt ? value['variables'] : value)
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

/** Returns the field by which a part names input that only the provider has. */
function referenceIn(part: Json): string | undefined {
  const { id, type, source, file, audio } = part
  const { file_id: fileId, file_data: data } = objectOf(file)
  if (isGiven(fileId) || textOf(data).includes('://')) return 'file'
  if (/^(file|url)$/.test(typeOf(source))) return 'source'
  if (isGiven(objectOf(audio)['id'])) return 'audio'
  // Without its encrypted content, OpenAI finds reasoning by its id.
  const isReasoning = type === 'reasoning' && !textOf(part['encrypted_content'])
  const isBare = Object.keys(part).every((key) => NOT_SAID.has(key))
  if (isGiven(id) && (isReasoning || isBare || type === 'item_reference')) return 'id'
  return storedIn(part, (address) => !address.startsWith('data:'))
}

/** Returns the field of a part that has an address or an id for which `matches` returns true. */
function storedIn(part: Json, matches: (address: string) => boolean): string | undefined {
  if (CITATION.test(typeOf(part))) return undefined
  return Object.keys(part).find((key) => {
    const value = part[key]
    return STORED.test(key) && isGiven(value) && matches(textOf(objectOf(value)['url'] ?? value))
  })
}

/** Returns true for a file, a sound or a document in the body itself, unless it is plain text. */
function isInline(part: Json): boolean {
  const { source } = part
  // A document may be text, or parts like those of a message.
  if (isObject(source)) return !/^(text|content)$/.test(typeOf(source))
  const places = [part['file'], part['file_data'], part['input_audio'], storedIn(part, Boolean)]
  return places.some(isGiven)
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Returns the type of an object. Not `String(…)`, which fails for objects that override it. */
const typeOf = (value: unknown): string => textOf(objectOf(value)['type'])

function pictureTokens(part: Json, model: string | undefined): number {
  if (own(part, 'type') === 'image' || isClaude(model)) return CLAUDE_IMAGE_TOKENS
  const image = own(part, 'image_url')
  return openAiImageTokens(model, own(isObject(image) ? image : part, 'detail'))
}

/** Returns the number of MCP servers, whose tools the model reads. */
function serversIn(key: string, value: unknown): number {
  if (Array.isArray(value)) return key === 'tools' ? value.filter(isMcp).length : value.length
  return key === 'tools' || !isGiven(value) ? 0 : 1
}

/** OpenAI's way to name an MCP server; the model reads what tools it has. */
function isMcp(tool: unknown): boolean {
  return typeOf(tool) === 'mcp'
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null

function counted(count: (text: string) => number, text: string): number {
  const tokens = count(text)
  if (isCount(tokens) && tokens <= MAX_UNITS) return tokens
  throw new ConfigError('invalid_option', 'estimateRequest.count', 'must return a number of tokens')
}
