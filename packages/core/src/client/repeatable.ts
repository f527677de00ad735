type Input = string | URL | Request

/** Returns true if the request can be sent more than once: its body is not a stream. */
export function canSendAgain(input: Input, init: RequestInit | undefined): boolean {
  if (typeof input !== 'string' && !(input instanceof URL) && !(input instanceof Request)) {
    return false
  }
  const body = init?.body ?? undefined
  if (body === undefined) return !(input instanceof Request && input.bodyUsed)
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return true
  return [ArrayBuffer, Blob, FormData, URLSearchParams].some((kind) => body instanceof kind)
}

/** Returns `input`, or a copy if sending it would use up its body. */
export function copyOf(input: Input, init: RequestInit | undefined): Input {
  const ownBody = input instanceof Request && input.body !== null
  return ownBody && (init?.body ?? undefined) === undefined ? input.clone() : input
}

const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'])

/** Returns true if the request may be executed twice: by its method, or by its `Idempotency-Key`. */
export function isIdempotent(input: Input, init: RequestInit | undefined): boolean {
  const request = input instanceof Request ? input : undefined
  const method = init?.method ?? request?.method ?? 'GET'
  if (IDEMPOTENT.has(method.toUpperCase())) return true
  return new Headers(init?.headers ?? request?.headers).has('idempotency-key')
}
