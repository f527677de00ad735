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
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
}

/** Answers an error in the shape of the provider, so that its clients understand it. */
export function errorResponse(
  { status, code, message }: CallError,
  api: ModelApi,
  headers: HeadersInit = {},
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
  const answer = Response.json(error, { status, headers })
  answer.headers.set('Cache-Control', 'no-store')
  return answer
}

/** Words an error of the input for the client, which does not configure prices. */
export function messageFor({ code, message }: InputError): string {
  return code === 'unknown_model' ? 'This model is not offered.' : message
}

/**
 * Answers a denial in the shape of the provider: 429, or 503 when the store failed. The official clients
 * wait as long as its headers say, and give up where waiting is no answer.
 */
export function denialResponse(decision: DeniedDecision, api: ModelApi): Response {
  const answer = tooManyRequests(decision, { format: 'openai' })
  if (!isAnthropic(api)) return answer
  const headers = new Headers(answer.headers)
  const { error: code, message } = denialBody(decision)
  return errorResponse({ status: answer.status, code, message }, api, headers)
}
