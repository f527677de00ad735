import type { Algorithm } from '../algorithms/algorithm.ts'
import type { AnyLimitName } from './limit.ts'
import type { Policy, PolicyRule } from './policy.ts'
import { packedLogAlgorithm } from '../algorithms/packed-log.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { createPolicy } from './define-policy.ts'

/** Options of `coarse`. */
export interface CoarseOptions {
  /**
   * The largest part of the units in a window by which they may be counted too high: 0.001 to 0.5. The
   * smaller, the longer the string in Redis. @default 0.02
   */
  readonly maxError?: number
}

/**
 * Counts a policy's sliding windows in one short string per partition instead of a sorted set. Exact, with the
 * same decisions, in about a fiftieth of the memory. Each decision copies the whole string, so use it up to
 * about 10,000 requests in a window.
 *
 * @param policy A `slidingWindow`, `slidingWindows` or `projectLimits`.
 * @throws ConfigError When it is another policy.
 * @example
 * packed(slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] }))
 */
export function packed<
  Dimension extends string,
  Unit extends string,
  Name extends string = AnyLimitName,
>(policy: Policy<Dimension, Unit, Name>): Policy<Dimension, Unit, Name> {
  return createPolicy(packedRules('packed', policy as Policy, 0)) as Policy<Dimension, Unit, Name>
}

/**
 * Counts a policy's sliding windows in one short string per partition, whatever their limits: requests are
 * kept one by one at first, and in ever larger groups as they age. A group counts until the last of it has left
 * the window. So no window ever exceeds its limit, and it counts at most `maxError` more than it holds.
 *
 * @param policy A `slidingWindow`, `slidingWindows` or `projectLimits`.
 * @throws ConfigError When it is another policy, or `maxError` is out of range.
 * @example
 * coarse(projectLimits({ day: 1_000_000 }), { maxError: 0.01 })
 */
export function coarse<
  Dimension extends string,
  Unit extends string,
  Name extends string = AnyLimitName,
>(
  policy: Policy<Dimension, Unit, Name>,
  options: CoarseOptions = {},
): Policy<Dimension, Unit, Name> {
  assertKnownOptions('coarse', options, ['maxError'])
  const { maxError = 0.02 } = options
  if (!(maxError >= 0.001 && maxError <= 0.5)) {
    const message = 'must be a number from 0.001 to 0.5'
    throw new ConfigError('invalid_option', 'coarse.maxError', message, maxError)
  }
  const parts = Math.ceil(1 / maxError)
  return createPolicy(packedRules('coarse', policy as Policy, parts)) as Policy<
    Dimension,
    Unit,
    Name
  >
}

/** Returns the rules of a policy, counted in a packed log. Rules that share a log still do. */
function packedRules(factory: string, policy: Policy, parts: number): PolicyRule[] {
  const rules: unknown = typeof policy === 'function' && policy.length === 0 ? policy() : undefined
  if (!Array.isArray(rules)) {
    const message = 'must be a policy, such as slidingWindow({ … })'
    throw new ConfigError('invalid_option', `${factory}.policy`, message)
  }
  return (rules as PolicyRule[]).map((rule) => {
    const { name, algorithm, params, keyspace } = rule
    // A leased window has a keyspace of its own.
    if (algorithm.id !== 'log' && (algorithm.id !== 'sliding' || keyspace)) {
      const message = `"${name}" cannot be packed; only slidingWindow, slidingWindows and projectLimits can, once`
      throw new ConfigError('invalid_option', `${factory}.policy`, message)
    }
    const [window = 1, longest = window] = params
    return Object.freeze({
      ...rule,
      algorithm: packedLogAlgorithm as unknown as Algorithm,
      params: [window, longest, parts],
      keyspace: keyspace ?? { name, params: [longest] },
    })
  })
}
