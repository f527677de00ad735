import type { ChatRequest } from './chat-request'
import { standIn } from './stand-in'

/**
 * Calls the configured OpenAI-compatible model and passes its answer on as it arrives. Without a
 * configured model, the stand-in answers with `sample`. Rejects if the model cannot be reached or the
 * call is aborted.
 */
export async function callModel(
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
