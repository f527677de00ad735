type Input = string | URL | Request

/** Returns the input if it is a request. Not by its class, which servers replace. */
export function requestOf(input: Input): Request | undefined {
  return typeof input === 'object' && 'method' in input ? input : undefined
}

/** Returns true if the request can be sent more than once: its body is not a stream. */
export function canSendAgain(input: Input, init: RequestInit | undefined): boolean {
  const request = requestOf(input)
  if (typeof input !== 'string' && !(input instanceof URL) && !request) return false
  const body = init?.body ?? undefined
  if (body === undefined) return !request?.bodyUsed
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return true
  return [ArrayBuffer, Blob, FormData, URLSearchParams].some((kind) => body instanceof kind)
}

/** Returns `input`, or a copy if sending it would use up its body. */
export function copyOf(input: Input, init: RequestInit | undefined): Input {
  const request = requestOf(input)
  return request?.body && (init?.body ?? undefined) === undefined ? request.clone() : input
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])

/** Returns true if the request may be executed twice: by its method, or by its `Idempotency-Key`. */
export function isIdempotent(input: Input, init: RequestInit | undefined): boolean {
  const request = requestOf(input)
  const method = init?.method ?? request?.method ?? 'GET'
  if (IDEMPOTENT.has(method.toUpperCase())) return true
  return new Headers(init?.headers ?? request?.headers).has('idempotency-key')
}
