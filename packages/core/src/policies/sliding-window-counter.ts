import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { counterAlgorithm } from '../algorithms/counter.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { assertPositiveInteger, invalidOption } from '../internal/validation.ts'
import { policyOfRule } from './define-rule.ts'

/** Options of `slidingWindowCounter`. */
export interface SlidingWindowCounterOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends PolicyOptions<Partition, Unit, Name> {
  /** The window's length. */
  readonly window: Duration
  /**
   * The number of equal parts of the window, each with its own count. More are closer to exact. At most
   * 60, each a whole number of milliseconds long. @default 1
   */
  readonly segments?: number
}

const MAX_SEGMENTS = 60

/**
 * Allows about `limit` units in any stretch of time as long as `window`. It counts by segments of the
 * window, and takes the oldest in proportion to the part that is still in the window. In Redis it is one
 * short string per partition.
 *
 * Its bounds: a stretch of `window` less one segment never exceeds the limit. A stretch of `window`
 * exceeds it at most by the units of a single segment, and so never holds more than twice the limit.
 * Nothing is denied that an exact window longer by one segment would allow.
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
  return policyOfRule('slidingWindowCounter', options, ['window', 'segments'], () => {
    const windowMs = durationMs('slidingWindowCounter.window', options.window)
    const option = 'slidingWindowCounter.segments'
    const { segments: segmentCount = 1 } = options
    const segments = assertPositiveInteger(option, segmentCount, MAX_SEGMENTS)
    if (windowMs % segments !== 0) {
      throw invalidOption(option, 'must divide the window into whole milliseconds')
    }
    return {
      algorithm: counterAlgorithm,
      params: [windowMs, segments],
      windowMs,
      // Keeps units times a segment's milliseconds an exact whole number.
      maxUnits: Math.floor(Number.MAX_SAFE_INTEGER / (windowMs / segments)),
    }
  })
}
