import type { ChatRequest } from './chat-request'
import { readJson, type JsonBody } from '../http/read-json'
import { standIn } from './stand-in'

/** What a route asks of the model. */
export interface Task {
  /** The model's instructions. */
  readonly instructions: string
  /** What the stand-in model says. */
  readonly sample: string
  /** Whether the answer is a stream of events. */
  readonly stream: boolean
}

const MAX_INPUT_CHARACTERS = 8_000
/** As many characters as JSON can write at most: six bytes each, as in `\u00e9`. */
const MAX_BODY_BYTES = 6 * MAX_INPUT_CHARACTERS + 1_000

/** A route handler that answers `{ "input": "…" }` with the model's answer. */
export function answerWith({ instructions, sample, stream }: Task) {
  return async (request: Request): Promise<Response> => {
    const input = inputIn(await readJson(request, MAX_BODY_BYTES))
    if (typeof input !== 'string') {
      const message = `Send {"input": "…"} with at most ${MAX_INPUT_CHARACTERS} characters.`
      const error = input === 413 ? 'body_too_large' : 'invalid_input'
      return Response.json({ error, message }, { status: input })
    }
    const model = process.env['OPENAI_MODEL'] ?? 'gpt-4o-mini'
    const messages = [
      { role: 'system', content: instructions },
      { role: 'user', content: input },
    ]
    try {
      return await askModel({ model, stream, messages }, sample, request.signal)
    } catch {
      const message = 'The model cannot be reached.'
      return Response.json({ error: 'upstream_unavailable', message }, { status: 502 })
    }
  }
}

/**
 * Asks the OpenAI-compatible service that is configured, and passes its answer on as it comes; without
 * one, lets the stand-in say `sample`. Rejects when the model cannot be reached, or is not waited for.
 */
export async function askModel(
  body: ChatRequest,
  sample: string,
  signal: AbortSignal,
): Promise<Response> {
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl } = process.env
  const answer =
    key && baseUrl
      ? await fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal,
        })
      : await standIn(body, sample, signal)
  const contentType = answer.headers.get('content-type') ?? 'application/json'
  return new Response(answer.body, {
    status: answer.status,
    headers: { 'content-type': contentType, 'cache-control': 'no-store' },
  })
}

/** The input in a request's body, or the status to refuse it with. */
function inputIn(body: JsonBody): string | 400 | 413 {
  if (!('value' in body)) return body.status
  const { input } = (body.value ?? {}) as { input?: unknown }
  return typeof input === 'string' && input.length <= MAX_INPUT_CHARACTERS ? input : 400
}
