import { readJson } from '../http/read-json'

/** A request for a chat completion, with the fields that reach the model. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly object[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

/**
 * Optional fields that cost no more than the reserved tokens. All other fields are dropped, because
 * some, such as `service_tier` and web search, cost more.
 */
const OTHER_FIELDS = (
  'temperature top_p frequency_penalty presence_penalty stop seed n response_format ' +
  'tools tool_choice parallel_tool_calls reasoning_effort'
).split(' ')

const MAX_BODY_BYTES = 200_000
/** The longest answer if the request sets none: a reservation needs a maximum. */
const DEFAULT_MAX_TOKENS = 400

/** Reads a chat request and adds a maximum and the request for usage. Returns a refusal if invalid. */
export async function readChat(request: Request): Promise<ChatRequest | Response> {
  const body = await readJson(request, MAX_BODY_BYTES)
  if (!('value' in body) && body.status === 413) {
    return openAiError(413, 'body_too_large', `Send at most ${MAX_BODY_BYTES} bytes.`)
  }
  if (!('value' in body) || !isChat(body.value)) {
    return openAiError(400, 'invalid_body', 'Send {"model", "messages"}.')
  }
  const { model, messages, stream, max_tokens, max_completion_tokens } = body.value
  const fields: Readonly<Record<string, unknown>> = { ...body.value }
  const optional = OTHER_FIELDS.filter((name) => fields[name] !== undefined)
  return {
    model,
    messages,
    ...Object.fromEntries(optional.map((name) => [name, fields[name]])),
    ...(max_completion_tokens ? { max_completion_tokens } : {}),
    ...(max_tokens || !max_completion_tokens
      ? { max_tokens: max_tokens ?? DEFAULT_MAX_TOKENS }
      : {}),
    // Without this option a stream has no usage, and hidden reasoning could not be counted.
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }
}

function isChat(body: unknown): body is ChatRequest {
  const { model, messages, stream, stream_options, ...limits } = (body ??
    {}) as Partial<ChatRequest>
  return (
    typeof model === 'string' &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every((message) => typeof message === 'object' && message !== null) &&
    typeof (stream ?? false) === 'boolean' &&
    typeof (stream_options ?? {}) === 'object' &&
    [limits.max_tokens, limits.max_completion_tokens].every(isMaximum)
  )
}

const isMaximum = (value: unknown): boolean =>
  value === undefined || value === null || (Number.isSafeInteger(value) && Number(value) > 0)

/** Creates an error in the format of OpenAI's API. */
export function openAiError(status: number, code: string, message: string): Response {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const param = code === 'unknown_model' ? 'model' : null
  return Response.json({ error: { message, type, param, code } }, { status })
}
