/** A request for a chat completion. What else it has goes to the model as it came. */
export interface ChatRequest {
  readonly model: string
  readonly messages: readonly object[]
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

const MAX_CHARACTERS = 200_000
/** How long an answer may be where the request does not say: what is reserved must be a maximum. */
const DEFAULT_MAX_TOKENS = 400

/** What a client asks for, with a maximum and with its usage told; `undefined` if it is no such request. */
export async function readChat(request: Request): Promise<ChatRequest | undefined> {
  const body = parsed(await request.text())
  if (!isChat(body)) return undefined
  const { stream, stream_options: options, max_tokens, max_completion_tokens } = body
  return {
    ...body,
    ...((max_completion_tokens ?? max_tokens) ? {} : { max_tokens: DEFAULT_MAX_TOKENS }),
    // Without it a stream tells no usage, and reasoning that is hidden could not be counted.
    ...(stream && { stream_options: { ...options, include_usage: true } }),
  }
}

function parsed(text: string): unknown {
  try {
    return text.length > MAX_CHARACTERS ? undefined : JSON.parse(text)
  } catch {
    return undefined
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
