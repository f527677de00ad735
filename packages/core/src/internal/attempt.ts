/** Returns the result of a call, or `otherwise` if it throws. */
export function attempt<Result, Other>(call: () => Result, otherwise: Other): Result | Other {
  try {
    return call()
  } catch {
    return otherwise
  }
}
