/** Returns the result of a call, or `otherwise` if it throws. */
export function attempt<Result, Other>(call: () => Result, otherwise: Other): Result | Other {
  try {
    return call()
  } catch {
    return otherwise
  }
}

/** Parses JSON. Returns `undefined` if it is malformed. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
