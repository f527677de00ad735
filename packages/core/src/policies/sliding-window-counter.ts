import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { counterAlgorithm } from '../algorithms/counter.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { ConfigError } from '../errors.ts'
import { assertPositiveInteger } from '../internal/validation.ts'
import { definePolicy } from './policy.ts'

/** Options of `slidingWindowCounter`. */
export interface SlidingWindowCounterOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends PolicyOptions<Partition, Unit, Name> {
  /** The window's length. */
  readonly window: Duration
  /**
   * Parts that the window is cut into, each with a count of its own: the more, the closer to exact. At
   * most 60, each a whole number of milliseconds. @default 1
   */
  readonly segments?: number
}

const MAX_SEGMENTS = 60

/**
 * Allows about `limit` units in any stretch as long as `window`, from counts of whole segments of it,
 * of which the oldest is taken in proportion to how much of it is still in the window. One short
 * string in Redis, whatever the traffic. Three things hold: no stretch of `window` less one segment
 * ever exceeds the limit; a stretch of `window` exceeds it by no more than a single segment held, and
 * so never holds more than twice the limit; and nothing is denied that an exact window of one segment
 * more would allow.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * slidingWindowCounter({ name: 'rpm', limit: 600, window: '1m', segments: 6, per: ['tenant'] })
 */
export function slidingWindowCounter<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: SlidingWindowCounterOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return definePolicy('slidingWindowCounter', options, ['window', 'segments'], () => {
    const windowMs = durationMs('slidingWindowCounter.window', options.window)
    const option = 'slidingWindowCounter.segments'
    const { segments: parts = 1 } = options
    const segments = assertPositiveInteger(option, parts, MAX_SEGMENTS)
    if (windowMs % segments !== 0) {
      const message = 'must cut the window into parts of whole milliseconds'
      throw new ConfigError('invalid_option', option, message)
    }
    return {
      algorithm: counterAlgorithm,
      params: [windowMs, segments],
      windowMs,
      // Units times a segment's milliseconds are an exact whole number.
      maxUnits: Math.floor(Number.MAX_SAFE_INTEGER / (windowMs / segments)),
    }
  })
}
