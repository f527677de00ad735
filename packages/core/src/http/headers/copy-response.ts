/**
 * Copies a response. The headers of the copy are its own and can be changed, whatever the original is.
 *
 * @param body The body of the copy. @default that of the original
 */
export function copyResponse(response: Response, body: BodyInit | null = response.body): Response {
  // Cloudflare takes `encodeBody` from the response itself, which has no property of that name.
  const copy = new Response(body, response)
  if (copy.headers !== response.headers) return copy
  // The `Response` of `@hono/node-server` 1.14 to 1.19 shares the headers, and those of a fetched one throw.
  const { status, statusText, headers } = response
  return new Response(copy.body, { status, statusText, headers: new Headers(headers) })
}

/**
 * Headers that are no longer true of a body that `fetch` has unpacked, or are about the connection that it came by,
 * which a server of HTTP/2 refuses to send (RFC 9110, section 7.6.1).
 */
const OF_THE_WAY = [
  'content-encoding',
  'content-length',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]

/** Copies a fetched response, to be sent on. @param body The body of the copy. @default that of the original */
export function forwardResponse(response: Response, body?: BodyInit | null): Response {
  const copy = copyResponse(response, body)
  for (const name of OF_THE_WAY) copy.headers.delete(name)
  return copy
}
