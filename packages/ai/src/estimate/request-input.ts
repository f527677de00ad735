import { MAX_UNITS, invalidOption } from '@sluice/core/internal'
import { invalidBody } from './invalid-body.ts'
import { CLAUDE_IMAGE_TOKENS, openAiImageTokens } from './images.ts'
import { isGiven, isObject, objectOf, objectsIn, own, type Json } from '../json.ts'
import { isClaude } from '../model-name.ts'
import { isCount } from '../formats/provider-usage.ts'
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
  'n best_of conversation include logit_bias metadata previous_response_id prompt_cache_key prompt_cache_retention safety_identifier stop stop_sequences store stream_options thinking user verbosity prompt_cache_options service_tier max_completion_tokens max_tokens model max_output_tokens background mcp_servers audio stream modalities reasoning'.split(
    ' ',
  ),
)
/** Names of fields that hold texts; the others hold data that is sent as JSON. */
const TEXTS = /^(messages|input|instructions|system|prompt)$/
/** Parts of a message that are not sent as text. */
const NOT_INPUT: ReadonlySet<string> = /* @__PURE__ */ new Set(
  'type role id call_id tool_call_id tool_use_id cache_control prompt_cache_breakpoint status signature detail media_type'.split(
    ' ',
  ),
)
/** Types of parts that are pictures, however they name them. */
const PICTURE = /^(image(_url)?|input_image|computer_screenshot)$/
/** Fields of files and sounds, in the body or by id or address. */
const MEDIA = /^(input_audio|file_(id|data)|(file|pdf|audio|video|document)_url)$/
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
  let other = partsFromElsewhere(body, settings.inspect) * settings.unseenTokens
  let values = 0
  // Not recursive: a body may nest as deeply as it is long.
  const texts: unknown[] = []
  const data: unknown[] = []

  const said = (part: Json): void => {
    const type = own(part, 'type')
    if (type !== 'text') text += PER_ITEM
    const isPicture =
      isGiven(part['image_url']) || (PICTURE.test(textOf(type)) && Object.keys(part).length > 1)
    const media = mediaIn(part)
    const reference = isPicture ? undefined : referenceIn(part, media)
    settings.inspect?.(part, reference)
    if (isPicture) other += settings.imageTokens ?? pictureTokens(part, model)
    else if (reference !== undefined || media.length > 0) other += settings.unseenTokens
    for (const key of Object.keys(part)) {
      // A role of more than 32 characters is none, and a template may pass it on.
      if (media.includes(key) || (NOT_INPUT.has(key) && !textOf(part['role'])[32])) continue
      if (isPicture && /^(image_url|source)$/.test(key)) continue
      // The input of a tool is sent as JSON.
      ;(key === 'input' ? data : texts).push(part[key])
    }
  }
  const sent = (value: unknown): void => {
    if (typeof value === 'string') text += counted(count, value) + 1
    else if (Array.isArray(value)) {
      text += 2
      for (const item of value) data.push(item)
    } else if (isObject(value)) {
      text += 2
      for (const key of Object.keys(value)) {
        text += counted(count, key) + 1
        data.push(value[key])
      }
    } else text += String(value).length
  }

  for (const [key, value] of Object.entries(body)) {
    if (TEXTS.test(key))
      texts.push(key === 'prompt' && isObject(value) ? value['variables'] : value)
    else if (!NOT_READ.has(key)) data.push(value)
  }
  if (isClaude(model) && objectsIn(own(body, 'tools'))[0]) other += CLAUDE_TOOLS
  while (texts.length > 0 || data.length > 0) {
    values += 1
    if (values > MAX_VALUES) throw invalidBody(`must hold at most ${MAX_VALUES} values`)
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

/** Returns the number of parts that a body brings in: inputs that are stored, and MCP servers, whose tools the model reads. */
function partsFromElsewhere(body: Json, inspect: Inspect | undefined): number {
  let parts = 0
  for (const [key, value] of Object.entries(body)) {
    // A thread that is created has the messages of this body.
    const isStored =
      key === 'prompt'
        ? isObject(value)
        : STORED_PARAMETER.test(key) && isGiven(value) && (value as Json)['type'] !== 'create'
    if (isStored) {
      inspect?.(body, key)
      parts += 1
    }
    if (key === 'mcp_servers') parts += [value].flat().filter(isGiven).length
    // OpenAI names MCP servers among the tools.
    if (key === 'tools') parts += objectsIn(value).filter((tool) => tool['type'] === 'mcp').length
  }
  return parts
}

/** Returns the fields of a part with a file or a sound. */
function mediaIn(part: Json): string[] {
  const type = textOf(part['type'])
  if (CITATION.test(type)) return []
  const source = type === 'base64' ? 'data' : type
  return Object.keys(part).filter(
    (key) =>
      (MEDIA.test(key) || (key === source && /^(data|url)$/.test(key))) && isGiven(part[key]),
  )
}

/** Returns the field by which a part names input that only the provider has, or has sound. */
function referenceIn(part: Json, media: readonly string[]): string | undefined {
  const { id, type } = part
  // Without its encrypted content, OpenAI finds reasoning by its id.
  const isReasoning = type === 'reasoning' && !textOf(part['encrypted_content'])
  const isBare = Object.keys(part).every((key) => NOT_INPUT.has(key))
  if (isGiven(id) && (isReasoning || isBare || type === 'item_reference')) return 'id'
  return media.find((key) => {
    const value = part[key]
    const address = textOf(objectOf(value)['url'] ?? value)
    // Tokens of sound may cost more than those of text. A film has some, too.
    const isData = key === 'data' || (key === 'file_data' && !/:/.test(address))
    return !isData && !/^data:(?!audio|video)/.test(address)
  })
}

/** Not `String(…)`, which fails for objects that override it. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function pictureTokens(part: Json, model: string | undefined): number {
  if (own(part, 'type') === 'image' || isClaude(model)) return CLAUDE_IMAGE_TOKENS
  const image = own(part, 'image_url')
  return openAiImageTokens(model, own(isObject(image) ? image : part, 'detail'))
}

function counted(count: (text: string) => number, text: string): number {
  const tokens = count(text)
  if (isCount(tokens) && tokens <= MAX_UNITS) return tokens
  throw invalidOption('estimateRequest.count', 'must return a number')
}
