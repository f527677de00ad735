import { invalidOption, isUnits } from '../../internal/validation.ts'

/** The default of `maxDelayMs`. */
export const DEFAULT_MAX_DELAY_MS = 30_000

/** The largest `maxDelayMs`: an hour. Longer waits are for a queue. */
const LONGEST_DELAY_MS = 3_600_000

/** Returns `maxDelayMs` if it is a whole number of milliseconds up to an hour, else throws. */
export function assertMaxDelay(option: string, maxDelayMs: unknown = DEFAULT_MAX_DELAY_MS): number {
  if (isUnits(maxDelayMs) && maxDelayMs <= LONGEST_DELAY_MS) return maxDelayMs
  const message = `must be a whole number of milliseconds from 0 (no delay) to ${LONGEST_DELAY_MS}`
  throw invalidOption(option, message, maxDelayMs)
}

/**
 * Waits `delayMs` milliseconds, or until `signal` aborts. Resolves to true unless it was aborted, also before and where
 * there is nothing to wait for. Leaves no timer and no listener behind.
 */
export function delay(delayMs: number, signal?: AbortSignal): Promise<boolean> {
  if (delayMs <= 0 || signal?.aborted) return Promise.resolve(!signal?.aborted)
  return new Promise((resolve) => {
    const end = (isOver: boolean): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      resolve(isOver)
    }
    const abort = (): void => end(false)
    const timer = setTimeout(end, delayMs, true)
    signal?.addEventListener('abort', abort)
  })
}
