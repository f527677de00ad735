import {
  InputError,
  type DeniedDecision,
  type Limiter,
  type Subject,
  type WaitUntil,
} from '@sluice/core'
import { unitNamesOf } from '@sluice/core/reservations'
import { own } from '../json.ts'
import type { ModelApi } from './api.ts'
import { denialResponse, errorResponse, messageFor } from './denial.ts'
import type { CallOptions } from './engine.ts'
import { prepareCall, type PreparedCall } from './prepare.ts'
import { readBody } from './read-body.ts'

const STATUSES: Readonly<Record<string, number>> = {
  invalid_body: 400,
  unknown_model: 400,
  body_too_large: 413,
}

/** The model that refused bodies count under, which name none that can be called. */
const NO_MODEL = 'other'

/**
 * Charges a request, and nothing else, for a call that is refused because of its body: such calls are not free
 * to repeat. Returns the denial if the request does not fit, and `undefined` for any other error.
 */
export async function chargeRefusedBody(
  error: unknown,
  limiter: Limiter,
  subject: Subject,
  waitUntil: WaitUntil | undefined,
): Promise<DeniedDecision | undefined> {
  if (!(error instanceof InputError) || !Object.hasOwn(STATUSES, error.code)) return undefined
  const units = [...unitNamesOf(limiter)]
  const cost = Object.fromEntries(units.map((unit) => [unit, unit === 'request' ? 1 : 0]))
  const counted = { ...subject, model: subject.model ?? NO_MODEL }
  const decision = await limiter.check(counted, { cost, waitUntil })
  return decision.allowed ? undefined : decision
}

/** Answers the error of a refused body in the shape of the provider. Returns `undefined` for any other error. */
export function refusalOf(error: unknown, api: ModelApi): Response | undefined {
  if (!(error instanceof InputError)) return undefined
  const { code } = error
  const status = own(STATUSES, code) as number | undefined
  if (status === undefined) return undefined
  return errorResponse({ status, code, message: messageFor(error) }, api)
}

/** A place that calls come from: whose they are, and what they are held to. */
export interface CallSource {
  readonly limiter: Limiter
  readonly subject: Subject
  readonly options: CallOptions
  readonly api: ModelApi
  readonly waitUntil: WaitUntil | undefined
}

/** Reads a call and prepares it. Returns the answer instead if its body is refused. */
export async function readCall(
  source: Request | Response,
  { limiter, subject, options, api, waitUntil }: CallSource,
): Promise<PreparedCall | Response> {
  try {
    return prepareCall(await readBody(source, options.maxBodyBytes), options, api)
  } catch (error) {
    const denied = await chargeRefusedBody(error, limiter, subject, waitUntil)
    if (denied) return denialResponse(denied, api, options.spentStatus)
    const refusal = refusalOf(error, api)
    if (refusal === undefined) throw error
    return refusal
  }
}
