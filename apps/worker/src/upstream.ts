import type { Env } from './env.ts'
import { routes } from './limits.ts'

/** Forwards a chat completion to the model, and streams the answer back. */
export async function forward(request: Request, env: Env): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (!routes.some(({ path }) => path === pathname)) {
    return Response.json({ error: 'not_found' }, { status: 404 })
  }
  if (request.method !== 'POST') {
    return Response.json({ error: 'use_post' }, { status: 405, headers: { allow: 'POST' } })
  }
  const { OPENAI_API_KEY: key, OPENAI_BASE_URL: baseUrl } = env
  if (!key || !baseUrl) return standIn()
  try {
    return await fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: request.body,
    })
  } catch {
    return Response.json({ error: 'upstream_unavailable' }, { status: 502 })
  }
}

const WORDS = ['A ', 'stand-in ', 'says ', 'this, ', 'word ', 'by ', 'word.']
const WORD_MS = 50

/** Streams a fixed text with delays, as an OpenAI-compatible model does. */
function standIn(): Response {
  const encoder = new TextEncoder()
  let index = 0
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await scheduler.wait(WORD_MS)
      const content = WORDS[index++]
      const choices = [{ index: 0, delta: { content }, finish_reason: null }]
      const event = content === undefined ? '[DONE]' : JSON.stringify({ choices })
      controller.enqueue(encoder.encode(`data: ${event}\n\n`))
      if (content === undefined) controller.close()
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
  })
}
