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
export function answerWith(task: Task): (request: Request) => Promise<Response> {
  return async (request) => {
    const input = await readInput(request)
    if (input === undefined) {
      const message = `Send {"input": "…"} with at most ${MAX_INPUT_CHARACTERS} characters.`
      return Response.json({ error: 'invalid_input', message }, { status: 400 })
    }
    const { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl } = process.env
    if (key && baseUrl) return upstream(task, input, key, baseUrl, request.signal)
    const latencyMs = Number(process.env['DEMO_MODEL_LATENCY_MS'] ?? 600)
    return standIn(task.sample, task.stream, latencyMs, request.signal)
  }
}

/** Asks an OpenAI-compatible service, and passes its answer on as it comes. */
async function upstream(
  { instructions, stream }: Task,
  input: string,
  key: string,
  baseUrl: string,
  signal: AbortSignal,
): Promise<Response> {
  const messages = [
    { role: 'system', content: instructions },
    { role: 'user', content: input },
  ]
  try {
    const answer = await fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: process.env['OPENAI_MODEL'] ?? 'gpt-4o-mini',
        stream,
        messages,
      }),
      signal,
    })
    const contentType = answer.headers.get('content-type') ?? 'application/json'
    return new Response(answer.body, {
      status: answer.status,
      headers: { 'content-type': contentType, 'cache-control': 'no-store' },
    })
  } catch {
    const message = 'The model cannot be reached.'
    return Response.json({ error: 'upstream_unavailable', message }, { status: 502 })
  }
}

async function readInput(request: Request): Promise<string | undefined> {
  try {
    const { input } = (await request.json()) as { input?: unknown }
    return typeof input === 'string' && input.length <= MAX_INPUT_CHARACTERS ? input : undefined
  } catch {
    return undefined
  }
}
