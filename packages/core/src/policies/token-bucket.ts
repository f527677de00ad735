import type { Per } from '../subject.ts'
import type { AnyLimitName, Burst } from './limit.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { bucketAlgorithm, maxUnitsOf } from '../algorithms/bucket.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { assertOneOf } from '../internal/validation.ts'
import { policyOfRule } from './define-rule.ts'

/** Options of `tokenBucket`. */
export interface TokenBucketOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends PolicyOptions<Partition, Unit, Name> {
  /** The time in which `limit` units flow in. */
  readonly window: Duration
  /**
   * The most units that the bucket holds, and so the most at once: a number, `'limit'`, or a function of
   * the plan and the route. May be below the limit. @default the limit
   */
  readonly burst?: Burst<Name>
  /**
   * `'continuous'` adds units one after another, evenly. `'interval'` adds `limit` units at once at the
   * start of each window, aligned to the Unix epoch. @default 'continuous'
   */
  readonly refill?: 'continuous' | 'interval'
}

/**
 * Allows up to `burst` units at once, and `limit` units per `window` on average. A window's length may
 * see up to `burst` + `limit` units: use it where a burst after a quiet time is welcome, and
 * `slidingWindow` where it is not. Exact, in whole numbers. In Redis it is one short string per
 * partition.
 *
 * @throws ConfigError When an option is unknown, missing or out of range. Limit and burst are at most
 * 2^53 divided by the window in milliseconds: 1.5 × 10^11 for a minute, 10^8 for a day.
 * @example
 * tokenBucket({ name: 'rpm', limit: 60, window: '1m', burst: 10, per: ['tenant'] })
 */
export function tokenBucket<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: TokenBucketOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('tokenBucket', options, ['window', 'burst', 'refill'], () => {
    const { burst = 'limit', refill = 'continuous' } = options
    const windowMs = durationMs('tokenBucket.window', options.window)
    const refillMode = assertOneOf('tokenBucket.refill', refill, ['continuous', 'interval'])
    return {
      algorithm,
      params: refillMode === 'interval' ? [windowMs, windowMs] : [windowMs],
      windowMs,
      burst,
      maxUnits: maxUnitsOf(windowMs),
    }
  })
}

const algorithm = /* @__PURE__ */ bucketAlgorithm('token-bucket')
