/* What the outcome of a call says about its upstream. */

/** It is well, it has failed, or the outcome is about the call alone. */
export type Outcome = 'success' | 'failure' | 'none'

/** Statuses below 500 that say that the upstream is too busy, or too slow. */
const BUSY: ReadonlySet<number> = new Set([408, 425, 429])

/** The header of our own denials, which say nothing about the upstream. */
const OWN_HEADER = 'x-ratelimit-scope'

/** Judges what a call has returned: a response by its status, anything else as a success. */
export function outcomeOfResult(result: unknown): Outcome {
  const { status, headers, arrayBuffer } = (result ?? {}) as Partial<Response>
  if (typeof status !== 'number' || typeof arrayBuffer !== 'function') return 'success'
  return outcomeOfStatus(status, headers)
}

/** Judges what a call has thrown. Errors of clients have the status of the response. */
export function outcomeOfError(error: unknown): Outcome {
  if (typeof error !== 'object' || error === null) return 'failure'
  const facts = error as {
    status?: unknown
    statusCode?: unknown
    headers?: unknown
    name?: unknown
  }
  // Its caller has given up.
  if (facts.name === 'AbortError' || facts.name === 'APIUserAbortError') return 'none'
  const status = facts.status ?? facts.statusCode
  if (typeof status !== 'number') return 'failure'
  return outcomeOfStatus(status, facts.headers)
}

function outcomeOfStatus(status: number, headers: unknown): Outcome {
  if (status < 400) return 'success'
  if (status < 500 && !BUSY.has(status)) return 'none'
  return hasOwnHeader(headers) ? 'none' : 'failure'
}

function hasOwnHeader(headers: unknown): boolean {
  if (typeof headers !== 'object' || headers === null) return false
  if ('get' in headers && typeof headers.get === 'function') {
    return (headers as Headers).get(OWN_HEADER) !== null
  }
  return OWN_HEADER in headers
}
