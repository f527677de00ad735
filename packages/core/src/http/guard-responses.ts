import type { DeniedDecision } from '../decision.ts'
import type { GuardSettings } from './guard-options.ts'
import { negotiatedFormat } from './format.ts'
import { headersFor, withHeaders } from './add-headers.ts'
import { Refusal, refusalResponse } from './refusal.ts'
import { tooManyRequests } from './too-many-requests.ts'

interface RefusedOutcome {
  readonly kind: 'refuse'
  readonly response: Response
}

type ResponseSettings = Pick<GuardSettings<never>, 'format' | 'headers'>

/**
 * Answers a request that is refused before the limits are checked, or denied: with `response`, or else with a 429, or a
 * 503 when the store failed.
 */
export function refuseRequest(
  reason: Refusal | DeniedDecision,
  request: Request,
  settings: ResponseSettings,
  response?: Response,
): RefusedOutcome {
  const { format = negotiatedFormat(request), headers } = settings
  if (reason instanceof Refusal) {
    return { kind: 'refuse', response: refusalResponse(reason, format) }
  }
  response ??= tooManyRequests(reason, { format, headers: false })
  return { kind: 'refuse', response: withHeaders(response, headersFor(request, reason, headers)) }
}
