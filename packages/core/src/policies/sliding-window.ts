import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { slidingLogAlgorithm } from '../algorithms/sliding-log.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { policyOfRule } from './define-rule.ts'

/** Options of `slidingWindow`. */
export interface SlidingWindowOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends PolicyOptions<Partition, Unit, Name> {
  /** The window's length. */
  readonly window: Duration
}

/**
 * Allows `limit` units in any stretch of time as long as `window`. Exact, not an estimate. In Redis it is
 * one sorted set per partition, with one member per allowed request, whatever its cost.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
 */
export function slidingWindow<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: SlidingWindowOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('slidingWindow', options, ['window'], () => {
    const windowMs = durationMs('slidingWindow.window', options.window)
    return { algorithm: slidingLogAlgorithm, params: [windowMs], windowMs }
  })
}
