import { estimateRequest, type CallToSend } from '@sluice/ai'
import type { Limiter, Subject } from '@sluice/core'
import {
  denialBody,
  rateLimitHeaders,
  Refusal,
  tooManyRequests,
  withHeaders,
} from '@sluice/core/http'
import type { CallNotes } from './call-notes.ts'
import type { CallContext } from './calls.ts'
import { errorAnswer } from './errors.ts'

/** It costs a request, and nothing else: Anthropic counts for free. */
const COST = { request: 1, token: 0, usd: 0, call: 0 }

/** A call to forward, for which the provider bills nothing. */
type FreeCall = Omit<CallToSend, 'model'> & { readonly isFree: true }

/**
 * Creates a handler that has Anthropic count the tokens of a call.
 *
 * @param send Sends it; without it, the tokens are estimated.
 */
export function tokenCounting(
  limiter: Limiter,
  findSubject: (request: Request, notes: CallNotes) => Promise<Subject | Refusal>,
  maxBodyBytes: number,
  send: ((call: FreeCall, request: Request, notes: CallNotes) => Promise<Response>) | undefined,
): (request: Request, ...context: CallContext) => Promise<Response> {
  return async (request, notes, ctx) => {
    const subject = await findSubject(request, notes)
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
    if (!(Number(request.headers.get('content-length') ?? Infinity) <= maxBodyBytes)) {
      const message = `The body must be at most ${maxBodyBytes} bytes, and its length given.`
      return errorAnswer(413, 'body_too_large', message, headers)
    }
    const body = await request.text()
    const { signal } = request
    const call = { api: 'anthropic-messages', body, signal, subject, isFree: true } as const
    return withHeaders(send ? await send(call, request, notes) : estimated(body), headers)
  }
}

function estimated(body: string): Response {
  try {
    return Response.json({ input_tokens: estimateRequest(JSON.parse(body)).input })
  } catch {
    return errorAnswer(400, 'invalid_body', 'The body must be a JSON object.')
  }
}
