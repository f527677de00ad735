import type { Policy, PolicyOptions } from './policy.ts'
import { slidingLogAlgorithm } from '../algorithms/sliding-log.ts'
import { durationMs, type Duration } from '../duration.ts'
import { definePolicy } from './policy.ts'

/** Options of `slidingWindow`. */
export interface SlidingWindowOptions extends PolicyOptions {
  /** The window's length. */
  readonly window: Duration
}

/**
 * Allows `limit` units in any stretch of time as long as `window`: exact, not an estimate. In Redis
 * it is one sorted set per partition, with one member per allowed request, whatever its cost.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
 */
export function slidingWindow(options: SlidingWindowOptions): Policy {
  return definePolicy('slidingWindow', options, ['window'], () => {
    const windowMs = durationMs('slidingWindow.window', options.window)
    return { algorithm: slidingLogAlgorithm, params: [windowMs], windowMs }
  })
}
