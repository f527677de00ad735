/** What a browser never sends with a preflight: what announces a body, and whatever may be a credential. */
const NOT_IN_A_PREFLIGHT =
  /^(content-type|transfer-encoding)$|^(?!sec-|access-control-).*(auth|cookie|credential|jwt|key|secret|session|token)/

/**
 * Returns true if this is a CORS preflight, as a browser sends it: with no body, and no header that
 * announces one or may be a credential.
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

/** Reads the beginning of a copy: Next.js gives each request of such a method a body, an empty one too. */
async function hasNoBody(request: Request): Promise<boolean> {
  if (request.body === null) return true
  const reader = request.clone().body?.getReader()
  const first = await reader?.read()
  // Of two copies of a stream the one is cancelled when the other is: nobody waits for that.
  reader?.cancel().catch(() => {})
  return first?.done === true
}
