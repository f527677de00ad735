import type { DeniedDecision } from '@sluice/core'
import { denialBody, tooManyRequests } from '@sluice/core/http'
import { isAnthropic, type ModelApi } from './api.ts'

/** An error as the provider's clients read it. */
export interface CallError {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly headers?: HeadersInit
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
  { status, code, message, headers: extra }: CallError,
  api: ModelApi,
): Response {
  const error = isAnthropic(api)
    ? {
        type: 'error',
        error: {
          type: ANTHROPIC_TYPES[status] ?? 'api_error',
          message,
          // Anthropic's client goes on without a thread then.
          details: message.startsWith('body.thread:')
            ? { error_code: 'thread_unsupported_request' }
            : undefined,
        },
      }
    : {
        error: {
          message,
          type: status < 500 ? 'invalid_request_error' : 'server_error',
          param: code === 'unknown_model' ? 'model' : null,
          // As OpenAI answers.
          code: code === 'unauthenticated' ? 'invalid_api_key' : code,
        },
      }
  const headers = new Headers(extra)
  headers.set('Cache-Control', 'no-store')
  return Response.json(error, { status, headers })
}

/**
 * Answers a denial in the shape of the provider: 429, or 503 when the store failed. The official clients
 * wait as long as its headers say, and give up where waiting is no answer.
 *
 * @param spentStatus The status for a used-up budget of a day, week, month or year, or of credits. @default 429
 */
export function denialResponse(
  decision: DeniedDecision,
  api: ModelApi,
  spentStatus?: 402 | 429,
): Response {
  const response = tooManyRequests(decision, { format: 'openai', headers: false, spentStatus })
  if (!isAnthropic(api)) return response
  const { error: code, message } = denialBody(decision)
  // Anthropic's type is that of the status: `billing_error` is a 402.
  return errorResponse({ status: response.status, code, message }, api)
}
