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
