import { systemClock, type Clock } from '../clock.ts'
import { assertMaxDelay, delay } from '../http/guard/delay.ts'
import { assertFunction, assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { canSendAgain, copyOf, isIdempotent, requestOf } from './repeatable.ts'
import { statedWaitMs } from './wait.ts'

/** The part of `fetch` that clients of APIs use. */
export type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** A request that is about to wait, and to be sent again. */
export interface RetryEvent {
  /** The number of this retry, from 1. */
  readonly retry: number
  /** The wait before it, in milliseconds. */
  readonly waitMs: number
  /** The status of the response that is discarded. */
  readonly status: number
  /** The headers of the response that is discarded. */
  readonly headers: Headers
}

/** Options of `retryingFetch`. */
export interface RetryingFetchOptions {
  /** Sends the requests. @default the global fetch */
  readonly fetch?: FetchLike
  /**
   * The longest that one call waits, all its waits together, in milliseconds: from 0 to an hour. If the
   * server states a longer wait, the call returns its response at once.
   *
   * @default 60_000
   */
  readonly maxWaitMs?: number
  /** The most times that one call is sent again, from 0 to 10. @default 2 */
  readonly maxRetries?: number
  /** Called before each wait. An error that it throws rejects the call. @default none */
  readonly onRetry?: (event: RetryEvent) => void
  /** The time, for tests, in epoch ms. @default the machine's clock */
  readonly clock?: Clock
  /** Waits `ms` milliseconds, or until `signal` aborts; for tests. @default setTimeout */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<unknown>
  /** A number from 0 to below 1 that spreads the retries of many clients. @default Math.random */
  readonly random?: () => number
}

const OPTIONS = ['fetch', 'maxWaitMs', 'maxRetries', 'onRetry', 'clock', 'sleep', 'random']

const DEFAULT_MAX_WAIT_MS = 60_000

/** The first wait if the server states none, in milliseconds. It doubles with each retry. */
const FIRST_WAIT_MS = 1_000

/**
 * Creates a `fetch` that waits and sends a request again when a rate limiter refuses it. It waits as long
 * as the server states (`Retry-After`, `retry-after-ms`, `RateLimit`, `X-RateLimit-Reset`), and a little
 * longer, at random. It returns the refusal at once if the wait is longer than `maxWaitMs`, such as the
 * rest of a daily cap; if the server says `x-should-retry: false`; or if the body is a stream, which
 * cannot be sent again. It rejects as `fetch` does, and with the reason of your `AbortSignal` while it waits.
 *
 * @throws ConfigError When an option is unknown or malformed.
 * @example
 * const openai = new OpenAI({ fetch: retryingFetch({ maxWaitMs: 20_000 }), maxRetries: 0 })
 */
export function retryingFetch(options: RetryingFetchOptions = {}): FetchLike {
  assertKnownOptions('retryingFetch', options, OPTIONS)
  const maxWaitMs = assertMaxDelay(
    'retryingFetch.maxWaitMs',
    options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS,
  )
  const maxRetries = assertMaxRetries(options.maxRetries ?? 2)
  const { clock = systemClock, sleep = sleepFully, random = Math.random, onRetry } = options
  const { fetch: send = (input, init) => fetch(input, init) } = options
  for (const [name, value] of Object.entries({ fetch: send, clock, sleep, random })) {
    assertFunction(`retryingFetch.${name}`, value)
  }
  if (onRetry !== undefined) assertFunction('retryingFetch.onRetry', onRetry)

  /** Returns the wait before the next retry, or `undefined` if it is too long. */
  function waitMsOf({ headers }: Response, retry: number, leftMs: number): number | undefined {
    const statedMs = statedWaitMs(headers, clock())
    const leastMs = statedMs ?? FIRST_WAIT_MS * 2 ** (retry - 1)
    const spreadMs = statedMs === undefined ? leastMs : Math.min(leastMs / 10, 1_000)
    if (leastMs > leftMs) return undefined
    return Math.min(leftMs, Math.ceil(leastMs + random() * spreadMs))
  }

  return async (input, init) => {
    const signal = init?.signal === undefined ? requestOf(input)?.signal : init.signal
    const retries = canSendAgain(input, init) ? maxRetries : 0
    let leftMs = maxWaitMs
    for (let retry = 1; retry <= retries; retry++) {
      const response = await send(copyOf(input, init), init)
      if (!mayRetry(response, input, init)) return response
      const waitMs = waitMsOf(response, retry, leftMs)
      if (waitMs === undefined) return response
      const { status, headers } = response
      // Frees the connection. A body that broke on its way is discarded, too.
      await response.body?.cancel().catch(() => undefined)
      onRetry?.({ retry, waitMs, status, headers })
      leftMs -= waitMs
      await sleep(waitMs, signal ?? undefined)
      signal?.throwIfAborted()
    }
    return send(input, init)
  }
}

/**
 * Returns true if the request has not been executed, or may be executed again. A 429 and a 403 refuse it
 * before the work, so any method may be repeated. A 503 may come from a proxy after the work has begun
 * (RFC 9110, section 9.2.2), so only what is idempotent may be.
 */
function mayRetry(
  { status, headers }: Response,
  input: string | URL | Request,
  init: RequestInit | undefined,
): boolean {
  const advice = headers.get('x-should-retry')
  if (advice === 'false') return false
  if (advice === 'true') return status >= 400
  if (status === 429) return true
  // GitHub refuses with 403, and so does any server for lack of rights.
  if (status === 403) {
    return headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0'
  }
  return status === 503 && headers.has('retry-after') && isIdempotent(input, init)
}

/** Waits a millisecond longer, because timers may fire that much too early. */
function sleepFully(ms: number, signal?: AbortSignal): Promise<unknown> {
  return delay(ms + 1, signal)
}

function assertMaxRetries(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 10)
    return value
  const message = 'must be a whole number from 0 (no retries) to 10'
  throw invalidOption('retryingFetch.maxRetries', message)
}
