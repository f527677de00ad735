/** The response header that lists what a script of another origin may read. */
export const EXPOSE = 'Access-Control-Expose-Headers'

/** Lets a script of another origin read the headers. Whether it may read at all is not ours to say. */
export function exposed(
  headers: Readonly<Record<string, string>>,
  request: Request,
): Readonly<Record<string, string>> {
  const names = Object.keys(headers)
  const crossOrigin = request.headers.has('origin') && names.length > 0
  return crossOrigin ? { ...headers, [EXPOSE]: names.join(', ') } : headers
}

/** What a browser never sends with a preflight: what announces a body, and whatever may be a credential. */
const NOT_IN_A_PREFLIGHT =
  /^(content-type|transfer-encoding)$|^(?!sec-|access-control-).*(auth|cookie|credential|jwt|key|secret|session|token)/

/**
 * Whether this is a CORS preflight, as a browser sends it. It passes uncharged, so as little else as
 * can be told by its headers may look like one: not a request that announces a body or carries
 * credentials, which a handler that does not look at the method would answer.
 */
export function isPreflight({ method, headers }: Request): boolean {
  return (
    method === 'OPTIONS' &&
    headers.has('origin') &&
    headers.has('access-control-request-method') &&
    Number(headers.get('content-length') ?? 0) === 0 &&
    ![...headers.keys()].some((name) => NOT_IN_A_PREFLIGHT.test(name))
  )
}
