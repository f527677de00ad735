import type { ServerResponse } from 'node:http'
import type { CallInFlight } from '@sluice/core/http'

/** Ends a call, if there is one, with the response of Node.js that it is for. */
export function endWithResponse(call: CallInFlight | undefined, response: ServerResponse): void {
  if (call === undefined) return
  if (isOver(response)) void call.end()
  else response.once('close', () => void call.end())
}

/** Returns true if the response is complete or its client is gone: `close` may not be emitted again. */
export function isOver(response: ServerResponse): boolean {
  // One of HTTP/2 has no `destroyed`, but a stream that has.
  const { stream = response } = response as { readonly stream?: { readonly destroyed: boolean } }
  return stream.destroyed || response.writableFinished
}

/** Headers that earlier middleware may have set, too, for reasons of its own. */
const SHARED_HEADERS = new Set(['access-control-expose-headers', 'set-cookie', 'vary'])

/** Sets headers of a response of Node.js. Another value is replaced, except in a header that is shared. */
export function setHeaders(response: ServerResponse, headers: Iterable<[string, string]>): void {
  for (const [name, value] of headers) {
    if (SHARED_HEADERS.has(name.toLowerCase())) response.appendHeader(name, value)
    else response.setHeader(name, value)
  }
}

/** The names of the limits' headers of a response, as its outermost limiter has set them. */
const outermost = new WeakMap<ServerResponse, readonly string[]>()

/**
 * Returns the limits' headers to set on the response to an allowed request: none if a limiter further out
 * has set its own.
 */
export function headersToSet(
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
): [string, string][] {
  const names = Object.keys(headers)
  if (names.length === 0 || outermost.has(response)) return []
  outermost.set(response, names)
  return Object.entries(headers)
}

/** Returns the names of the headers of limiters further out that do not belong beside a refusal's own. */
export function headersToRemove(
  response: ServerResponse,
  { status, headers }: Response,
): readonly string[] {
  if (status !== 429 && !headers.has('Retry-After')) return []
  const names = outermost.get(response) ?? []
  return names.filter((name) => !SHARED_HEADERS.has(name.toLowerCase()))
}

/** Sends a response of the Fetch API. */
export async function sendResponse(response: ServerResponse, answer: Response): Promise<void> {
  for (const name of headersToRemove(response, answer)) response.removeHeader(name)
  setHeaders(response, answer.headers)
  response.statusCode = answer.status
  response.end(Buffer.from(await answer.arrayBuffer()))
}
