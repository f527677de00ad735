import {
  InputError,
  type DeniedDecision,
  type Limiter,
  type Subject,
  type WaitUntil,
} from '@sluice/core'
import { requestsOnly } from '@sluice/core/http'
import type { ModelApi } from './api.ts'
import { denialResponse, errorResponse, messageFor } from './denial.ts'
import type { CallOptions } from './engine.ts'
import { prepareCall, type PreparedCall } from './prepare.ts'
import { readBody } from './read-body.ts'

/** Throws any other error than that of a body: a mistake of the options or of the resolver. */
function assertOfBody(error: unknown): asserts error is InputError {
  if (!(error instanceof InputError && /body|unknown_model/.test(error.code))) throw error
}

/** The model that refused bodies count under, which name none that can be called. */
const NO_MODEL = 'other'

/**
 * Charges a request, and nothing else, for a call that is refused because of its body: such calls are not free
 * to repeat. Returns the denial if the request does not fit. Throws any other error.
 */
export async function chargeRefusedBody(
  error: unknown,
  limiter: Limiter,
  subject: Subject,
  waitUntil: WaitUntil | undefined,
): Promise<DeniedDecision | undefined> {
  assertOfBody(error)
  const counted = { ...subject, model: subject.model ?? NO_MODEL }
  const decision = await limiter.check(counted, { cost: requestsOnly(limiter, 1), waitUntil })
  return decision.allowed ? undefined : decision
}

/** Answers the error of a refused body in the shape of the provider. Throws any other error. */
export function refusalOf(error: unknown, api: ModelApi): Response {
  assertOfBody(error)
  const { code } = error
  const status = code === 'body_too_large' ? 413 : 400
  return errorResponse({ status, code, message: messageFor(error) }, api)
}

/** A place that calls come from: whose they are, and what they are held to. */
export interface CallSource {
  readonly limiter: Limiter
  readonly subject: Subject
  readonly options: CallOptions
  readonly api: ModelApi
  /** The provider's host, if it is known. */
  readonly host: string | undefined
  readonly waitUntil: WaitUntil | undefined
}

/** Reads a call and prepares it. Returns the answer instead if its body is refused. */
export async function readCall(
  source: Request | Response,
  { limiter, subject, options, api, host, waitUntil }: CallSource,
): Promise<PreparedCall | Response> {
  try {
    return prepareCall(await readBody(source, options.maxBodyBytes), options, api, host)
  } catch (error) {
    const denied = await chargeRefusedBody(error, limiter, subject, waitUntil)
    return denied ? denialResponse(denied, api, options.spentStatus) : refusalOf(error, api)
  }
}
