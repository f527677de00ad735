import type { DeniedDecision, InputError } from '@sluice/core'
import { denialBody, tooManyRequests } from '@sluice/core/http'
import { isAnthropic, type ModelApi } from './api.ts'

/** An error as the provider's clients read it. */
export interface CallError {
  readonly status: number
  readonly code: string
  readonly message: string
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

/** Answers an error in the shape of the provider, so that its clients understand it. */
export function errorResponse(
  { status, code, message }: CallError,
  api: ModelApi,
  init: HeadersInit = {},
): Response {
  const isClients = status < 500
  const error = isAnthropic(api)
    ? { type: 'error', error: { type: ANTHROPIC_TYPES[status] ?? 'api_error', message } }
    : {
        error: {
          message,
          type: isClients ? 'invalid_request_error' : 'server_error',
          param: code === 'unknown_model' ? 'model' : null,
          code,
        },
      }
  const headers = new Headers(init)
  headers.set('Cache-Control', 'no-store')
  return Response.json(error, { status, headers })
}

/** Words an error of the input for the client, which does not configure prices. */
export function messageFor({ code, input, reason }: InputError): string {
  return code === 'unknown_model' ? 'This model is not offered.' : `${input}: ${reason}`
}

/**
 * Answers a denial in the shape of the provider: 429, or 503 when the store failed. The official clients
 * wait as long as its headers say, and give up where waiting is no answer.
 *
 * @param spentStatus The status for a daily or monthly budget that is used up.
 */
export function denialResponse(
  decision: DeniedDecision,
  api: ModelApi,
  spentStatus: 402 | 429 = 429,
): Response {
  const response = tooManyRequests(decision, { format: 'openai' })
  const isPayment = spentStatus === 402 && /_quota_/.test(decision.reason)
  if (!isPayment && !isAnthropic(api)) return response
  const headers = new Headers(response.headers)
  // A client that waits would not be asked to pay.
  for (const name of isPayment ? ['retry-after', 'retry-after-ms'] : []) headers.delete(name)
  const { error: code, message } = denialBody(decision)
  const status = isPayment ? 402 : response.status
  return errorResponse({ status, code, message }, api, headers)
}
