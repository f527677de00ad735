/** Returns 64 random bits as text, to identify an isolate, a claim or a change. */
export function randomId(): string {
  const [bits] = crypto.getRandomValues(new BigUint64Array(1))
  return (bits as bigint).toString(36)
}

let isolateId = ''
let requestCount = 0

/** Returns an id that is unique among the requests of all isolates: this isolate's, and a number. */
export function requestId(): string {
  // Not at module scope, where Workers may not draw random numbers.
  if (isolateId === '') isolateId = randomId().padStart(13, '0')
  requestCount += 1
  return isolateId + requestCount.toString(36)
}
