/** Headers that a browser never sends with a preflight: of a body, or possible credentials. */
const NOT_IN_A_PREFLIGHT =
  /^(content-type|transfer-encoding)$|^(?!sec-|access-control-).*(auth|cookie|credential|jwt|key|secret|session|token)/

/**
 * Returns true if `request` is a CORS preflight as a browser sends it: without a body, and without a
 * header that announces one or may be a credential.
 */
export async function isPreflight(request: Request): Promise<boolean> {
  const { method, headers } = request
  return (
    method === 'OPTIONS' &&
    headers.has('origin') &&
    headers.has('access-control-request-method') &&
    Number(headers.get('content-length') ?? 0) === 0 &&
    ![...headers.keys()].some((name) => NOT_IN_A_PREFLIGHT.test(name)) &&
    hasNoBody(request)
  )
}

/** Reads the beginning of a copy, because Next.js gives even a request without a body an empty one. */
async function hasNoBody(request: Request): Promise<boolean> {
  if (request.body === null) return true
  const reader = request.clone().body?.getReader()
  const first = await reader?.read()
  // Not awaited: one copy of a stream is cancelled only when the other is, too.
  reader?.cancel().catch(() => {})
  return first?.done === true
}
