/** Answers with an error in a shape that OpenAI's and Anthropic's clients both read. */
export function errorAnswer(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  const body = { type: 'error', error: { type, message, param: null, code } }
  return Response.json(body, { status, headers: { ...headers, 'cache-control': 'no-store' } })
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
}

/** Answers that the gateway lacks a setting. A client has no reason to try again. */
export const notConfigured = (message: string): Response =>
  errorAnswer(503, 'not_configured', message, { 'x-should-retry': 'false' })
