import { isObject, objectOf, own } from '../json.ts'

/** The wire format of a model call. */
export type ModelApi =
  | 'openai-chat'
  | 'openai-responses'
  | 'openai-completions'
  | 'openai-embeddings'
  | 'anthropic-messages'

/** Returns true for values of a field that cost nothing beside tokens. */
type ValueRule = (value: unknown) => boolean

/** The rules that make a request cost no more than its tokens. */
export interface ApiRules {
  /** The end of its address, where OpenAI's and Anthropic's clients send it. Some servers ignore its case. */
  readonly path: RegExp
  /** The field that every request has, if there is one. */
  readonly required?: string
  /** The fields that cost nothing beside tokens. */
  readonly fields: ReadonlySet<string>
  /** The fields that cost nothing beside tokens with some values only. */
  readonly values: Readonly<Record<string, ValueRule>>
  /** The field that holds the most output tokens of one answer, if there is one. */
  readonly maximum?: string
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

/** Returns true if a tool is run by the client. */
export const isFunctionTool = (tool: unknown): boolean =>
  isObject(tool) && (own(tool, 'type') === 'function' || own(tool, 'type') === 'custom')

/** Anthropic's tools that the client runs; those that Anthropic runs are billed beside the tokens. */
const CLIENT_TOOL = /^(?:custom|(?:bash|text_editor|computer|memory)_\d{8})$/

const isClientTool = (tool: unknown): boolean => {
  const type = isObject(tool) ? own(tool, 'type') : null
  return type === undefined || (typeof type === 'string' && CLIENT_TOOL.test(type))
}

/** Returns true if the client runs a tool, whatever the format. */
export const isCallersTool = (tool: unknown): boolean => isFunctionTool(tool) || isClientTool(tool)

const listOf =
  (isAllowed: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(isAllowed)

const oneOf =
  (...values: unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value)

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const OPENAI_VALUES = {
  service_tier: oneOf('default'),
  modalities: listOf(oneOf('text')),
  tools: listOf(isFunctionTool),
  background: oneOf(false),
}

const REASONING = words('effort summary generate_summary context max_tokens enabled exclude')

/** Returns false for the mode `pro`, in which a model runs several times, and for what is not known. */
const isReasonedOnce: ValueRule = (value) =>
  Object.entries(objectOf(value)).every(
    ([name, member]) =>
      REASONING.has(name) || member === null || (name === 'mode' && member === 'standard'),
  )

/** OpenAI's own models; others with its format accept `max_tokens` only. */
const OPENAI_MODEL = /^(?:openai\/)?(?:gpt-|chatgpt-|o\d|ft:gpt-)/i

const COMMON = 'model stream temperature top_p user metadata'

/**
 * The endpoints of OpenAI and Anthropic, from their API references:
 * https://developers.openai.com/api/reference and https://platform.claude.com/docs/en/api/messages
 *
 * A list of what is allowed, because a list of what is not would let through what a provider adds.
 */
export const API_RULES: Readonly<Record<ModelApi, ApiRules>> = {
  'openai-chat': {
    path: /\/chat\/completions$/i,
    required: 'messages',
    fields: words(
      `${COMMON} messages max_tokens max_completion_tokens n stop seed stream_options frequency_penalty
       presence_penalty logit_bias logprobs top_logprobs response_format tool_choice parallel_tool_calls
       functions function_call reasoning_effort verbosity store safety_identifier prompt_cache_key
       prompt_cache_retention`,
    ),
    values: OPENAI_VALUES,
    maximum: 'max_tokens',
  },
  'openai-responses': {
    path: /\/responses$/i,
    fields: words(
      `${COMMON} input instructions max_output_tokens stream_options tool_choice parallel_tool_calls
       max_tool_calls text truncation include store top_logprobs previous_response_id conversation
       safety_identifier prompt_cache_key prompt_cache_retention`,
    ),
    values: { ...OPENAI_VALUES, reasoning: isReasonedOnce },
    maximum: 'max_output_tokens',
  },
  'openai-completions': {
    path: /(?<!\/chat)\/completions$/i,
    required: 'prompt',
    fields: words(
      `${COMMON} prompt suffix max_tokens n best_of stop seed stream_options frequency_penalty
       presence_penalty logit_bias logprobs echo`,
    ),
    values: OPENAI_VALUES,
    maximum: 'max_tokens',
  },
  'openai-embeddings': {
    path: /\/embeddings$/i,
    required: 'input',
    fields: words('model input dimensions encoding_format user'),
    values: {},
  },
  'anthropic-messages': {
    // Not the messages of a thread, which OpenAI's assistants have.
    path: /\/v1\/messages$/i,
    required: 'messages',
    fields: words(
      `${COMMON} messages system max_tokens stop_sequences top_k thinking tool_choice cache_control
       output_config output_format`,
    ),
    values: {
      service_tier: oneOf('standard_only'),
      tools: listOf(isClientTool),
      mcp_servers: isEmptyList,
      speed: oneOf('standard'),
    },
    maximum: 'max_tokens',
  },
}

/** Returns the field that holds the most output tokens of one answer of a model, if there is one. */
export const maximumField = (api: ModelApi, model: string): string | undefined =>
  api === 'openai-chat' && OPENAI_MODEL.test(model)
    ? 'max_completion_tokens'
    : API_RULES[api].maximum

export const API_NAMES = Object.keys(API_RULES) as ModelApi[]

/** Returns true if a field of some format costs nothing beside tokens with this value. */
export function costsTokensOnly(field: string, value: unknown): boolean {
  return Object.values(API_RULES).some(
    ({ fields, values }) =>
      fields.has(field) || (own(values, field) as ValueRule | undefined)?.(value) === true,
  )
}

/** Returns the format of calls to this address. */
export function apiOfPath(pathname: string): ModelApi | undefined {
  const path = pathname.replace(/\/+$/, '')
  return API_NAMES.find((name) => API_RULES[name].path.test(path))
}

export const isAnthropic = (api: ModelApi): boolean => api === 'anthropic-messages'
