import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { ANY_WAIT, bucketAlgorithm, maxUnitsOf } from '../algorithms/bucket.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { invalidOption } from '../internal/validation.ts'
import { assertBurst, type AnyLimitName, type Burst } from './limit.ts'
import { policyOfRule } from './define-rule.ts'

/** Options of `leakyBucket`. */
export interface LeakyBucketOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends PolicyOptions<Partition, Unit, Name> {
  /** The time in which `limit` units leak and proceed. */
  readonly window: Duration
  /**
   * The most units that the bucket holds, including the one that proceeds at once: nginx's `burst=20` is
   * a bucket of 21. A number, `'limit'`, or a function of the plan and the route.
   */
  readonly burst: Burst<Name>
  /**
   * `true` delays admitted requests until their turn (`delayMs`). `false` lets them proceed at once
   * (nginx's `nodelay`). A duration is the longest delay: a request that would wait longer is denied.
   * @default true
   */
  readonly wait?: boolean | Duration
}

/**
 * Shapes traffic: admitted requests proceed one after another, `limit` units per `window`, each after
 * `delayMs`. A request that finds the bucket full is denied. Exact, in whole numbers. In Redis it is one
 * short string per partition.
 *
 * @throws ConfigError When an option is unknown, missing or out of range. Limit and burst are at most
 * 2^53 divided by the window in milliseconds: 1.5 × 10^11 for a minute, 10^8 for a day.
 * @example
 * leakyBucket({ name: 'shape', limit: 5, window: '1s', burst: 21, wait: '2s', per: ['tenant'] })
 */
export function leakyBucket<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: LeakyBucketOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('leakyBucket', options, ['window', 'burst', 'wait'], () => {
    const { name, wait = true, stripes = 1 } = options
    if (wait !== false && stripes !== 1) {
      const message = 'must be 1 unless wait is false: stripes do not wait for each other'
      throw invalidOption('leakyBucket.stripes', message)
    }
    const windowMs = durationMs('leakyBucket.window', options.window)
    const longestWait = typeof wait === 'boolean' ? ANY_WAIT : durationMs('leakyBucket.wait', wait)
    return {
      algorithm: typeof wait === 'boolean' ? algorithm : bounded,
      params: [windowMs, 1, wait === false ? 0 : longestWait],
      windowMs,
      burst: assertBurst('leakyBucket.burst', options.burst),
      maxUnits: maxUnitsOf(windowMs),
      // Not `wait`: a bucket keeps its key, and so its content, if `wait` changes.
      keyspace: { name, params: [windowMs] },
    }
  })
}

const algorithm = /* @__PURE__ */ bucketAlgorithm('leaky-bucket')

// How long a request would wait depends on those before it, not on its cost.
const bounded = /* @__PURE__ */ Object.assign(/* @__PURE__ */ bucketAlgorithm('leaky-bucket'), {
  traits: { guessesRetry: true },
})
