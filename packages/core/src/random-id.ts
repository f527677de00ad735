/** Identifies one request, or one claim: 64 random bits. */
export function randomId(): string {
  const [bits] = crypto.getRandomValues(new BigUint64Array(1))
  return (bits as bigint).toString(36)
}

let isolate = ''
let count = 0

/** Identifies one request among those of all isolates: random bits of this one, and a number. */
export function requestId(): string {
  // Not at module scope, where Workers may not draw random numbers.
  if (isolate === '') isolate = randomId().padStart(13, '0')
  count += 1
  return isolate + count.toString(36)
}
