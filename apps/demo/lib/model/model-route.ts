import { readJson, type JsonBody } from '../http/read-json'
import { callModel } from './call-model'

/** The task of an AI route. */
interface Task {
  /** The instructions for the model. */
  readonly instructions: string
  /** The answer of the stand-in. */
  readonly sample: string
  /** True to answer with a stream of events. */
  readonly stream: boolean
}

const MAX_INPUT_CHARACTERS = 8_000
/** JSON takes at most six bytes for a character, as in `\u00e9`. */
const MAX_BODY_BYTES = 6 * MAX_INPUT_CHARACTERS + 1_000

/** Creates a route handler that sends the model's answer to `{ "input": "…" }`. */
export function modelRoute({ instructions, sample, stream }: Task) {
  return async (request: Request): Promise<Response> => {
    const input = inputIn(await readJson(request, MAX_BODY_BYTES))
    if (typeof input !== 'string') {
      const message = `Send {"input": "…"} with at most ${MAX_INPUT_CHARACTERS} characters.`
      const error = input === 413 ? 'body_too_large' : 'invalid_input'
      return Response.json({ error, message }, { status: input })
    }
    const model = process.env['OPENAI_MODEL'] ?? 'gpt-6-luna'
    const messages = [
      { role: 'system', content: instructions },
      { role: 'user', content: input },
    ]
    try {
      return await callModel({ model, stream, messages }, sample, request.signal)
    } catch {
      const message = 'The model cannot be reached.'
      return Response.json({ error: 'upstream_unavailable', message }, { status: 502 })
    }
  }
}

/** Returns the input of a body, or the status of the refusal. */
function inputIn(body: JsonBody): string | 400 | 413 {
  if (!('value' in body)) return body.status
  const { input } = (body.value ?? {}) as { input?: unknown }
  return typeof input === 'string' && input.length <= MAX_INPUT_CHARACTERS ? input : 400
}
