import { estimateRequest } from '@sluice/ai'
import {
  denialBody,
  rateLimitHeaders,
  Refusal,
  tooManyRequests,
  withHeaders,
} from '@sluice/core/http'
import { errorAnswer } from './errors.ts'
import type { CallHandler, CallParts } from './providers/handlers.ts'
import { readModel } from './providers/model-in-body.ts'
import { answers } from './providers/offers.ts'

/** It costs a request, and nothing else: Anthropic counts for free. */
const COST = { request: 1, token: 0, usd: 0, call: 0 }

const API = 'anthropic-count-tokens'

/**
 * Creates a handler that has the provider count the tokens of a call. Where the provider does not count, or a stand-in
 * answers, they are estimated.
 */
export function tokenCounting(
  { limiter, offers, planOf, findSubject, send }: CallParts,
  maxBodyBytes: number,
): CallHandler {
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
    const named = await readModel(request, maxBodyBytes)
    const { model = '' } = named
    const offer = offers.find(model, planOf(subject))
    if (!offer || !answers(offer.provider, 'anthropic-messages')) {
      const message = `The model ${JSON.stringify(model.slice(0, 64))} is not offered for these calls.`
      return errorAnswer(400, 'unknown_model', message, headers)
    }
    const body = await named.send(offer.sent).text()
    const { provider } = offer
    const call = { api: API, body, signal: request.signal, subject, isFree: true } as const
    const isCounted = provider.secret && answers(provider, API)
    const answer = isCounted ? await send(provider, call, request, notes) : estimated(body)
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
