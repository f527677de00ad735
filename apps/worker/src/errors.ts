/** Answers with an error in a shape that OpenAI's and Anthropic's clients both read. */
export function errorAnswer(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error')
  return Response.json(errorBody(type, code, message), {
    status,
    headers: { ...headers, 'cache-control': 'no-store' },
  })
}

/** Ends a stream of server-sent events with an error that both clients throw. */
export const errorEvent = (code: string, message: string): Uint8Array =>
  new TextEncoder().encode(
    `\n\nevent: error\ndata: ${JSON.stringify(errorBody('api_error', code, message))}\n\n`,
  )

const errorBody = (type: string, code: string, message: string): object => ({
  type: 'error',
  error: { type, message, param: null, code },
})

const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
}

/** Answers that the gateway lacks a setting. A client has no reason to try again. */
export const notConfigured = (message: string): Response =>
  errorAnswer(503, 'not_configured', message, { 'x-should-retry': 'false' })
