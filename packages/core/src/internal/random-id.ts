/** Identifies one request, or one claim: 64 random bits. */
export function randomId(): string {
  const [bits] = crypto.getRandomValues(new BigUint64Array(1))
  return (bits as bigint).toString(36)
}
