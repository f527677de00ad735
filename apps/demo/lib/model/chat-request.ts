import { readJson } from '../http/read-json'

/** A request for a chat completion: the fields that are passed on to the model. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly object[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

/**
 * Fields that change what is said, and cost nothing beside the tokens that are reserved. `service_tier`
 * and web search, for example, cost more, so a field is passed on only where it is known.
 */
const OTHER_FIELDS = (
  'temperature top_p frequency_penalty presence_penalty stop seed n response_format ' +
  'tools tool_choice parallel_tool_calls reasoning_effort'
).split(' ')

const MAX_BODY_BYTES = 200_000
/** How long an answer may be where the request does not say: what is reserved must be a maximum. */
const DEFAULT_MAX_TOKENS = 400

/** The chat that a client asks for, with a maximum and with its usage told; or the refusal to answer. */
export async function readChat(request: Request): Promise<ChatRequest | Response> {
  const body = await readJson(request, MAX_BODY_BYTES)
  if (!('value' in body) && body.status === 413) {
    return failure(413, 'body_too_large', `Send at most ${MAX_BODY_BYTES} bytes.`)
  }
  if (!('value' in body) || !isChat(body.value)) {
    return failure(400, 'invalid_body', 'Send {"model", "messages"}.')
  }
  const { model, messages, stream, max_tokens, max_completion_tokens } = body.value
  const others: Readonly<Record<string, unknown>> = { ...body.value }
  const known = OTHER_FIELDS.filter((name) => others[name] !== undefined)
  return {
    model,
    messages,
    ...Object.fromEntries(known.map((name) => [name, others[name]])),
    ...(max_completion_tokens ? { max_completion_tokens } : {}),
    ...(max_tokens || !max_completion_tokens
      ? { max_tokens: max_tokens ?? DEFAULT_MAX_TOKENS }
      : {}),
    // Without it a stream tells no usage, and reasoning that is hidden could not be counted.
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }
}

function isChat(body: unknown): body is ChatRequest {
  const { model, messages, stream, stream_options, ...most } = (body ?? {}) as Partial<ChatRequest>
  return (
    typeof model === 'string' &&
    Array.isArray(messages) &&
    messages.length > 0 &&
    messages.every((message) => typeof message === 'object' && message !== null) &&
    typeof (stream ?? false) === 'boolean' &&
    typeof (stream_options ?? {}) === 'object' &&
    [most.max_tokens, most.max_completion_tokens].every(isMaximum)
  )
}

const isMaximum = (value: unknown): boolean =>
  value === undefined || value === null || (Number.isSafeInteger(value) && Number(value) > 0)

/** An error as OpenAI's API answers. */
export function failure(status: number, code: string, message: string): Response {
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const param = code === 'unknown_model' ? 'model' : null
  return Response.json({ error: { message, type, param, code } }, { status })
}
