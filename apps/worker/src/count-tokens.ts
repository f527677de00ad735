import { estimateRequest } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import {
  denialBody,
  rateLimitHeaders,
  Refusal,
  tooManyRequests,
  withHeaders,
} from '@sluice/core/http'
import { errorAnswer } from './errors.ts'
import type { KeyVerifier } from './keys.ts'
import { forward, type Upstream } from './upstream.ts'

/** The largest body, in bytes: that of a call. */
const MAX_BYTES = 4_000_000

/** It costs a request, and nothing else: Anthropic counts for free. */
const COST = { request: 1, token: 0, usd: 0, call: 0 }

/** Creates a handler that has Anthropic count the tokens of a call; without a provider, they are estimated. */
export function tokenCounting(
  limiter: Limiter,
  verify: KeyVerifier,
  upstream: Upstream | undefined,
): (request: Request, ctx: ExecutionContext) => Promise<Response> {
  return async (request, ctx) => {
    const subject = await verify(request)
    if (subject instanceof Refusal) {
      const { status, code, message, headers } = subject.options
      return errorAnswer(status, code, message, headers)
    }
    const waitUntil = (promise: Promise<unknown>) => ctx.waitUntil(promise)
    const decision = await limiter.check(subject, { cost: COST, waitUntil })
    const headers = rateLimitHeaders(decision, ['x-ratelimit', 'openai', 'draft'])
    if (!decision.allowed) {
      const { error, message } = denialBody(decision)
      return errorAnswer(tooManyRequests(decision).status, error, message, headers)
    }
    if (!(Number(request.headers.get('content-length') ?? Infinity) <= MAX_BYTES)) {
      const message = `The body must be at most ${MAX_BYTES} bytes, and its length given.`
      return errorAnswer(413, 'body_too_large', message, headers)
    }
    const body = await request.text()
    const call = { api: 'anthropic-messages' as const, body, signal: request.signal }
    const answer = upstream
      ? await forward(upstream, call, request.headers, '/count_tokens')
      : estimated(body)
    return withHeaders(answer, headers)
  }
}

function estimated(body: string): Response {
  try {
    return Response.json({ input_tokens: estimateRequest(JSON.parse(body)).input })
  } catch {
    return errorAnswer(400, 'invalid_body', 'The body must be a JSON object.')
  }
}
