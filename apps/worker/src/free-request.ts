import type { AllowedDecision, Limiter, Subject } from '@sluice/core'
import { denialBody, rateLimitHeaders, Refusal, tooManyRequests } from '@sluice/core/http'
import type { CallContext } from './calls.ts'
import { errorAnswer } from './errors.ts'
import type { CallParts } from './providers/handlers.ts'

/** It costs a request, and nothing else. */
const COST = { request: 1, token: 0, usd: 0, call: 0 }

/** A request that the plan of its key allows. */
export interface FreeRequest {
  readonly subject: Subject
  readonly decision: AllowedDecision
  /** The headers of its answer. */
  readonly headers: Readonly<Record<string, string>>
}

/** Decides about a request that spends nothing. Returns the answer if it is refused. */
export async function decideFree(
  limiter: Limiter,
  findSubject: CallParts['findSubject'],
  request: Request,
  ...[notes, ctx]: CallContext
): Promise<FreeRequest | Response> {
  const subject = await findSubject(request, notes)
  if (subject instanceof Refusal) {
    const { status, code, message, headers } = subject.options
    return errorAnswer(status, code, message, headers)
  }
  const waitUntil = (promise: Promise<unknown>) => ctx.waitUntil(promise)
  const decision = await limiter.check(subject, { cost: COST, waitUntil })
  const headers = rateLimitHeaders(decision, ['x-ratelimit', 'openai', 'draft'])
  if (decision.allowed) return { subject, decision, headers }
  const { error, message } = denialBody(decision)
  return errorAnswer(tooManyRequests(decision).status, error, message, headers)
}
