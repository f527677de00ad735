import { once } from 'node:events'
import { createServer } from 'node:http'
import { createLimiter, dailyCap, slidingWindow, type Policy } from '@sluice/core'
import { rateLimit, type DenialFormat } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { addressOf } from '../e2e/support/ports.ts'

/** A request as the provider saw it, and what it answered. */
interface Attempt {
  /** The time of the answer, in milliseconds. */
  readonly answeredAt: number
  /** The time of arrival, by the same clock. */
  readonly at: number
  readonly status: number
  readonly headers: Headers
}

/** An endpoint that stands for a model provider's, behind a limit that is spent when it is first asked. */
export interface Provider extends AsyncDisposable {
  readonly url: string
  readonly attempts: readonly Attempt[]
}

export const LIMITS: Readonly<Record<'short' | 'daily', Policy>> = {
  short: slidingWindow({ name: 'short', limit: 1, window: '300ms', per: ['tenant'] }),
  daily: dailyCap({ name: 'daily', limit: 1, per: ['tenant'] }),
}

export async function startProvider(policy: Policy, format: DenialFormat): Promise<Provider> {
  const subject = { tenant: 'acme' }
  const noon = new Date().setUTCHours(12, 0, 0, 0)
  const limiter = createLimiter({
    store: memory(),
    policies: [policy],
    // Midnight must not come while a test runs.
    ...(policy === LIMITS.daily && { clock: () => noon }),
  })
  const options = { routes: ['/v1/**'], subject: () => subject, format }
  const answer = rateLimit(limiter, options, ({ url }) =>
    Response.json(url.endsWith('/messages') ? MESSAGE : COMPLETION),
  )
  let wasAsked = false

  return serveProvider(async (path) => {
    if (!wasAsked) await limiter.check({ ...subject, route: '/v1/**' })
    wasAsked = true
    return answer(new Request(`http://provider.example${path}`, { method: 'POST' }))
  })
}

/** Serves what `respond` answers, by path, and notes each request. */
export async function serveProvider(
  respond: (path: string) => Promise<Response>,
): Promise<Provider> {
  const attempts: Attempt[] = []

  async function attempt(path: string): Promise<Response> {
    const at = performance.now()
    const response = await respond(path)
    const { status, headers } = response
    attempts.push({ at, answeredAt: performance.now(), status, headers })
    return response
  }

  const server = createServer((request, response) => {
    request.resume()
    // A store that ends while a client still asks fails the call, not the process.
    void attempt(request.url ?? '/')
      .then(async (answered) => {
        response.writeHead(answered.status, Object.fromEntries(answered.headers))
        response.end(await answered.text())
      })
      .catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${addressOf(server).port}`,
    attempts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export const COMPLETION = {
  id: 'completion',
  object: 'chat.completion',
  created: 0,
  model: 'model',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'blue' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

export const MESSAGE = {
  id: 'message',
  type: 'message',
  role: 'assistant',
  model: 'model',
  content: [{ type: 'text', text: 'blue' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}
