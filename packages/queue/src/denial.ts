import type { DeniedDecision } from '@sluice/core'

/** The longest that a job waits before it is decided about again, in milliseconds: limits may be raised meanwhile. */
export const LONGEST_WAIT_MS = 300_000

/**
 * Returns the time after which to ask again for a job that was denied, in milliseconds, or `null` if it never fits. One
 * without credits waits until somebody grants them.
 */
export function waitMsOf({ retryAfterMs, violated }: DeniedDecision): number | null {
  return retryAfterMs ?? (violated?.reason === 'credits_exhausted' ? LONGEST_WAIT_MS : null)
}
