const owners = new WeakMap<AbortSignal, Request>()

/**
 * Returns the signal of a request, which is aborted for as long as somebody holds it. In Node.js, the signal of a
 * request that was collected is never aborted, and after the head of an answer nobody holds its request.
 */
export function lastingSignal(request: Request): AbortSignal {
  const { signal } = request
  const known: AbortSignal | null | undefined = signal
  // The `Request` of another library may have none.
  if (known) owners.set(known, request)
  return signal
}
