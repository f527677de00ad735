import { estimateRequest } from '@sluice/ai'
import { withHeaders } from '@sluice/core/http'
import { errorAnswer } from './errors.ts'
import { decideFree } from './free-request.ts'
import type { CallHandler, CallParts } from './providers/handlers.ts'
import { readModel } from './providers/model-in-body.ts'
import { answers } from './providers/offers.ts'

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
    const allowed = await decideFree(limiter, findSubject, request, notes, ctx)
    if (allowed instanceof Response) return allowed
    const { subject, headers } = allowed
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
