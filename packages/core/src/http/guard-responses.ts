import type { DeniedDecision } from '../decision.ts'
import type { GuardSettings } from './guard-options.ts'
import { negotiatedFormat } from './format.ts'
import { headersFor, withHeaders } from './headers.ts'
import { refusalResponse, type Refusal } from './refusal.ts'
import { tooManyRequests } from './too-many-requests.ts'

interface RefusedOutcome {
  readonly kind: 'refuse'
  readonly response: Response
}

type ResponseSettings = Pick<GuardSettings<never>, 'format' | 'headers'>

/** Answers a request that is turned away before the limits are checked. */
export function refuseRequest(
  refusal: Refusal,
  request: Request,
  { format = negotiatedFormat(request) }: ResponseSettings,
): RefusedOutcome {
  return { kind: 'refuse', response: refusalResponse(refusal, format) }
}

/** Answers a denied request with `response`, or else with a 429, or a 503 when the store failed. */
export function denyRequest(
  decision: DeniedDecision,
  request: Request,
  settings: ResponseSettings,
  response?: Response,
): RefusedOutcome {
  const { format = negotiatedFormat(request), headers } = settings
  response ??= tooManyRequests(decision, { format, headers: false })
  return { kind: 'refuse', response: withHeaders(response, headersFor(request, decision, headers)) }
}
