import type { Decision, DeniedDecision } from '../decision.ts'
import type { GuardSettings } from './guard-options.ts'
import { negotiatedFormat } from './format.ts'
import { exposeHeaders, rateLimitHeaders, withHeaders } from './headers.ts'
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

/** Answers a denied request: 429, or 503 when the store failed. */
export function denyRequest(
  decision: DeniedDecision,
  request: Request,
  settings: ResponseSettings,
): RefusedOutcome {
  const { format = negotiatedFormat(request) } = settings
  const response = tooManyRequests(decision, { format, headers: false })
  return {
    kind: 'refuse',
    response: withHeaders(response, headersOf(decision, request, settings)),
  }
}

/** Returns the headers of a decision, readable for scripts of another origin. */
export function headersOf(
  decision: Decision,
  request: Request,
  { headers }: ResponseSettings,
): Readonly<Record<string, string>> {
  return exposeHeaders(rateLimitHeaders(decision, headers), request)
}
