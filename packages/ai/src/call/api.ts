import { isObject, objectOf } from '../json.ts'

/** The wire format of a model call. */
export type ModelApi =
  | 'openai-chat'
  | 'openai-responses'
  | 'openai-completions'
  | 'openai-embeddings'
  | 'anthropic-messages'

/** The format of the calls to one endpoint. */
export interface ApiRules {
  /** The end of its address, where OpenAI's and Anthropic's clients send it. Some servers ignore its case. */
  readonly path: string
  /** The field that holds the question. */
  readonly question: string
  /** The field that holds the most output tokens of one answer, if there is one. */
  readonly maximum?: string
}

export const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/))

/**
 * The types of tools whose calls return to the client, and of edits that clear what the model would read. Tools that a
 * provider runs are billed beside the tokens, and a compaction is a pass of its own.
 */
const FREE_TYPE =
  /^(function|custom|local_shell|apply_patch|computer|(bash|text_editor|computer|memory)_\d{8}|clear_\w+)$/

/** Returns true if the client runs a tool, whatever the format. Anthropic's may have a schema instead of a type. */
export const isCallersTool = (tool: unknown): boolean => {
  if (!isObject(tool)) return false
  const { type = tool['input_schema'] && 'custom' } = tool
  return typeof type === 'string' && FREE_TYPE.test(type)
}

/** OpenAI's own models; others with its format accept `max_tokens` only. */
const OPENAI_MODEL = /^(openai\/)?(ft:)?(gpt-|chatgpt-|o\d)/i

/** The endpoints of OpenAI and Anthropic. The first whose path fits is asked. */
export const API_RULES: Readonly<Record<ModelApi, ApiRules>> = {
  'openai-chat': { path: '/chat/completions', question: 'messages', maximum: 'max_tokens' },
  'openai-responses': { path: '/responses', question: 'input', maximum: 'max_output_tokens' },
  'openai-completions': { path: '/completions', question: 'prompt', maximum: 'max_tokens' },
  'openai-embeddings': { path: '/embeddings', question: 'input' },
  // Not the messages of a thread, which OpenAI's assistants have.
  'anthropic-messages': { path: '/v1/messages', question: 'messages', maximum: 'max_tokens' },
}

/** Returns the field that holds the most output tokens of one answer of a model, if there is one. */
export const maximumField = (api: ModelApi, model: string): string | undefined =>
  api === 'openai-chat' && OPENAI_MODEL.test(model)
    ? 'max_completion_tokens'
    : API_RULES[api].maximum

export const API_NAMES = Object.keys(API_RULES) as ModelApi[]

/**
 * The fields that cost nothing beside the tokens that are counted, in whatever format they are: with any value
 * (`seed`), with a value (`speed="standard"`), or with members that cost nothing (`reasoning.`, `reasoning.effort`).
 * From the API references of OpenAI and Anthropic, https://developers.openai.com/api/reference and
 * https://platform.claude.com/docs/en/api/messages; docs/facts.md has the pages of the others.
 *
 * A list of what is allowed, because a list of what is not would let through what a provider adds.
 */
const FIELDS = words(
  `n best_of conversation include logit_bias metadata previous_response_id prompt_cache_key prompt_cache_retention safety_identifier stop stop_sequences store stream_options thinking user verbosity
   temperature top_p seed frequency_penalty presence_penalty logprobs top_logprobs response_format
   tool_choice parallel_tool_calls functions function_call reasoning_effort instructions max_tool_calls text
   truncation suffix echo dimensions encoding_format system top_k cache_control output_config output_format
   diagnostics reasoning_format include_reasoning random_seed safe_prompt usage min_p guided_json ignore_eos
   thread modalities=["text"] background=false mcp_servers=[] speed="standard"
   service_tier="default" service_tier="on_demand" service_tier="standard_only"
   prompt_cache_options. prompt_cache_options.mode prompt_cache_options.ttl="30m"
   reasoning. reasoning.effort reasoning.summary reasoning.generate_summary reasoning.context
   reasoning.max_tokens reasoning.enabled reasoning.exclude reasoning.mode="standard"`,
)

/** Returns true if a field costs nothing beside tokens with this value. */
export function costsTokensOnly(field: string, value: unknown): boolean {
  const items =
    field === 'tools' ? value : field === 'context_management' && objectOf(value)['edits']
  if (Array.isArray(items)) return items.every(isCallersTool)
  return (
    FIELDS.has(field) ||
    FIELDS.has(`${field}=${JSON.stringify(value)}`) ||
    (FIELDS.has(`${field}.`) &&
      Object.entries(objectOf(value)).every(
        ([name, member]) => member === null || costsTokensOnly(`${field}.${name}`, member),
      ))
  )
}

/** Returns the format of calls to this address. */
export function apiOfPath(pathname: string): ModelApi | undefined {
  const path = pathname.replace(/\/+$/, '').toLowerCase()
  return API_NAMES.find((name) => path.endsWith(API_RULES[name].path))
}

export const isAnthropic = (api: ModelApi): boolean => api === 'anthropic-messages'
