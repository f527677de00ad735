import type { ChatRequest } from './chat-request'
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

/** A route handler that answers `{ "input": "…" }` with the model's answer. */
export function answerWith({ instructions, sample, stream }: Task) {
  return async (request: Request): Promise<Response> => {
    const input = await readInput(request)
    if (input === undefined) {
      const message = `Send {"input": "…"} with at most ${MAX_INPUT_CHARACTERS} characters.`
      return Response.json({ error: 'invalid_input', message }, { status: 400 })
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

async function readInput(request: Request): Promise<string | undefined> {
  try {
    const { input } = (await request.json()) as { input?: unknown }
    return typeof input === 'string' && input.length <= MAX_INPUT_CHARACTERS ? input : undefined
  } catch {
    return undefined
  }
}
