/* The outcome of a call as a sign of its upstream. */
import { attempt } from '../internal/attempt.ts'

/**
 * It is well; it has failed; it answers, but says nothing about how it is; or the outcome says nothing about it at all.
 */
export type Outcome = 'success' | 'failure' | 'refusal' | 'none'

/** Options of one call to an upstream. */
export interface UpstreamCallOptions {
  /**
   * The signal of the call. If its caller has aborted it, the outcome says nothing about the upstream. A timeout, as of
   * `AbortSignal.timeout`, is a failure. @default an error named `AbortError` alone says that its caller gave up
   */
  readonly signal?: AbortSignal | null | undefined
}

/** Statuses below 500 that say that the upstream is too busy, or too slow. */
const BUSY: ReadonlySet<number> = new Set([408, 425, 429])

/** Headers that a denial of our own has by default. It says nothing about the upstream. */
const OWN_HEADERS = ['x-ratelimit-scope', 'ratelimit']

/** Names of errors of callers who give up. */
const GIVEN_UP: ReadonlySet<unknown> = new Set([
  'AbortError',
  'APIUserAbortError',
  'ResponseAborted',
])

/** Judges what a call has returned: a response by its status, anything else as a success. */
export function outcomeOfResult(result: unknown): Outcome {
  // It may have getters that throw.
  return attempt((): Outcome => {
    const { status, headers, arrayBuffer } = (result ?? {}) as Partial<Response>
    if (typeof status !== 'number' || typeof arrayBuffer !== 'function') return 'success'
    return outcomeOfStatus(status, headers)
  }, 'success')
}

/** Judges what a call has thrown. Errors of clients have the status of the response, or the response. */
export function outcomeOfError(error: unknown, { signal }: UpstreamCallOptions = {}): Outcome {
  // It may have getters that throw.
  return attempt((): Outcome => {
    if (signal?.aborted && !isTimeout(signal.reason)) return 'none'
    if (typeof error !== 'object' || error === null) return 'failure'
    const { name, status, statusCode, headers, response } = error as Readonly<
      Record<string, unknown>
    >
    if (GIVEN_UP.has(name)) return 'none'
    const answer = (response ?? {}) as { readonly status?: unknown; readonly headers?: unknown }
    const found = status ?? statusCode ?? answer.status
    if (typeof found !== 'number') return 'failure'
    return outcomeOfStatus(found, headers ?? answer.headers)
  }, 'failure')
}

function outcomeOfStatus(status: number, headers: unknown): Outcome {
  if (status < 400) return 'success'
  if (status < 500 && !BUSY.has(status)) return 'refusal'
  const mayBeOwn = status === 429 || status === 503
  return mayBeOwn && OWN_HEADERS.every((name) => hasHeader(headers, name)) ? 'none' : 'failure'
}

function hasHeader(headers: unknown, name: string): boolean {
  if (typeof headers !== 'object' || headers === null) return false
  if ('get' in headers && typeof headers.get === 'function') {
    return typeof (headers as Headers).get(name) === 'string'
  }
  return name in headers
}

const isTimeout = (reason: unknown): boolean =>
  (reason as { name?: unknown } | undefined)?.name === 'TimeoutError'
