/**
 * Returns what was thrown, as an object. With nothing for an error, frameworks run the handler; Express does so
 * for some strings, too.
 */
export function asError(thrown: unknown): Error {
  if (typeof thrown === 'object' && thrown !== null) return thrown as Error
  return new Error('The limiter or a function of its options threw no error.', { cause: thrown })
}
