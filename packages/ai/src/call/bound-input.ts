import { invalidBody } from '../estimate/invalid-body.ts'
import { byteLength, isObject, own, type Json } from '../json.ts'
import { estimated } from '../estimate/estimate.ts'

/** Returns the input tokens to reserve for a body that is sent as JSON of `bytes` bytes. */
export type CountInput = (body: Readonly<Record<string, unknown>>, bytes: number) => number

/** Tokens that providers add to a call, beside those of its JSON: a few for each message, and a preamble. */
const TEMPLATE_TOKENS = 128

/** Fields from which providers write a prompt of their own. */
const SCHEMAS = [
  'tools',
  'functions',
  'response_format',
  'text',
  'output_config',
  'output_format',
  'format',
]

/**
 * More than providers add where there are tools or a format. Anthropic adds, for all tools that it defines, whose
 * names are unique: 804 for any, 245 for `bash`, 700 for an editor, 735 for `computer` and 499 for its prompt (its
 * page of prices, as of 2026-07). Some hosts make a tool of a format.
 */
const SCHEMA_TOKENS = 4_096

/** More tokens than any call has. */
const NO_BOUND = 100_000_000_000

/**
 * Returns a number of input tokens that a call cannot exceed, for the option `input` of `modelHandler`,
 * `limitedFetch` and `limitedModel`: a text has no more tokens than bytes in UTF-8, and the JSON around a
 * message is longer than what a provider's template adds to it.
 *
 * @throws InputError `invalid_body` when something in the body has no bound: an image, a file, a reference.
 * @example
 * modelHandler(limiter, { subject, prices: LIST_PRICES, input: boundInput }, openai)
 */
export const boundInput: CountInput = (body, bytes) => {
  const unbounded = { count: () => 0, imageTokens: NO_BOUND, unseenTokens: NO_BOUND }
  const { input } = estimated(body, unbounded)
  if (input >= NO_BOUND || hasReference(body)) {
    throw invalidBody('must not have images, files or references here: their tokens have no bound')
  }
  return bytes + TEMPLATE_TOKENS + schemaTokens(body)
}

/** Returns the most tokens of a provider's prompt for tools and formats: some write their JSON again, and indented. */
function schemaTokens(body: Json): number {
  const schemas = SCHEMAS.map((name) => own(body, name)).filter(hasContent)
  const indented = schemas.map((schema) => byteLength(JSON.stringify(schema, null, 4)))
  return indented.reduce((sum, length) => sum + length, schemas.length > 0 ? SCHEMA_TOKENS : 0)
}

const hasContent = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : isObject(value) && own(value, 'type') !== 'text'

/** Items of OpenAI's responses that hold what they say. All others may name something by its id. */
const WHOLE_ITEM = /^(message|(function|custom_tool)_call(_output)?)$/

/** Returns true if an item of the input may stand for something that OpenAI has stored. */
function hasReference(body: Json): boolean {
  const input = own(body, 'input')
  return Array.isArray(input) && input.some((item) => isObject(item) && !isWhole(item))
}

function isWhole(item: Json): boolean {
  const type = own(item, 'type')
  // Without its encrypted content, reasoning is what OpenAI finds under its id.
  if (type === 'reasoning') return typeof own(item, 'encrypted_content') === 'string'
  return type === undefined || (typeof type === 'string' && WHOLE_ITEM.test(type))
}
