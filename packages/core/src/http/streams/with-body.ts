/**
 * Returns a request like this one, whose body was read, with this text as its body. A request that was used cannot be
 * copied, so it is made of its parts.
 */
export function withBody(
  { url, method, headers, signal }: Request,
  text: string | undefined,
): Request {
  return new Request(url, { method, headers, signal, ...(text !== undefined && { body: text }) })
}
