import { ConfigError } from '../errors.ts'

/** How long a request is held at most unless told otherwise, in milliseconds. */
const DEFAULT_MAX_DELAY_MS = 30_000

/** More would be no delay but a queue: an hour, in milliseconds. */
const LONGEST_DELAY_MS = 3_600_000

/** Returns the longest delay in milliseconds, or throws unless it is a whole number up to an hour. */
export function assertMaxDelay(option: string, maxDelayMs: unknown = DEFAULT_MAX_DELAY_MS): number {
  if (typeof maxDelayMs === 'number' && Number.isInteger(maxDelayMs)) {
    if (maxDelayMs >= 0 && maxDelayMs <= LONGEST_DELAY_MS) return maxDelayMs
  }
  const message = `must be a whole number of milliseconds from 0 (never hold) to ${LONGEST_DELAY_MS}`
  throw new ConfigError('invalid_option', option, message)
}

/**
 * Waits so many milliseconds; less if `signal` aborts. Resolves to whether the wait is over, and not
 * cut short. Leaves no timer and no listener behind.
 */
export function hold(delayMs: number, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const end = (over: boolean): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      resolve(over)
    }
    const abort = (): void => end(false)
    const timer = setTimeout(end, delayMs, true)
    signal?.addEventListener('abort', abort)
  })
}
