import type { Decision } from '../../decision.ts'
import { copyResponse } from './copy-response.ts'
import { rateLimitHeaders, type HeaderStyle } from './headers.ts'

/** The response header that lists what a script of another origin may read. */
const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * Returns the headers of a decision for a response, and the header that lets a script of another origin read them.
 */
export function headersFor(
  request: Pick<Request, 'headers'>,
  decision: Decision,
  styles: readonly HeaderStyle[] | false | undefined,
  status?: number,
): Readonly<Record<string, string>> {
  const headers = rateLimitHeaders(decision, styles, status)
  const names = Object.keys(headers).join(', ')
  return names && request.headers.has('origin') ? { ...headers, [EXPOSE]: names } : headers
}

/**
 * Returns a copy of the response with headers added: the headers of a fetched one cannot be changed.
 *
 * @example
 * return withHeaders(await fetch(upstream), rateLimitHeaders(decision))
 */
export function withHeaders(
  response: Response,
  headers: Readonly<Record<string, string>>,
): Response {
  // A 101 carries a WebSocket, which a copy would lose. A network error cannot be copied.
  if (response.status === 101 || response.status === 0) return response
  const copy = copyResponse(response)
  for (const [name, value] of Object.entries(headers)) {
    copy.headers[name === EXPOSE ? 'append' : 'set'](name, value)
  }
  return copy
}

/** Returns true for the denial of a limiter, or of an API behind it. */
export const isDenial = ({ status, headers }: Response): boolean =>
  [402, 429].includes(status) || headers.has('Retry-After')

/**
 * Adds the headers of a decision to the response to its request. If the request was allowed, a denial from further in
 * keeps its own.
 */
export function withDecision(
  response: Response,
  decision: Decision,
  request: Pick<Request, 'headers'>,
  styles?: readonly HeaderStyle[] | false,
): Response {
  return decision.allowed && isDenial(response)
    ? response
    : withHeaders(response, headersFor(request, decision, styles, response.status))
}
