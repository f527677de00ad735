import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { CALENDAR_MONTH, fixedWindowAlgorithm } from '../algorithms/fixed-window.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { policyOfRule } from './define-rule.ts'

/** Options of `fixedWindow`. */
export interface FixedWindowOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends PolicyOptions<Partition, Unit, Name> {
  /** The window's length. Windows are aligned to the Unix epoch, so that `'1d'` starts at midnight UTC. */
  readonly window: Duration
}

const DAY_MS = 86_400_000

/**
 * Allows `limit` units in each window of a fixed grid, such as each hour by the clock. Up to twice the
 * limit can pass within one window's length, around the border of two windows: use it for quotas, and
 * `slidingWindow` for rates. In Redis it is one short string per partition.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * fixedWindow({ name: 'hourly', limit: 1_000, window: '1h', per: ['tenant'] })
 */
export function fixedWindow<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: FixedWindowOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('fixedWindow', options, ['window'], () => {
    const windowMs = durationMs('fixedWindow.window', options.window)
    return { algorithm: fixedWindowAlgorithm, params: [windowMs], windowMs }
  })
}

/**
 * Allows `limit` units each calendar day in UTC. The reason of its denials is `daily_quota_exceeded`. Its
 * key in Redis expires at midnight.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] })
 */
export function dailyCap<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: PolicyOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('dailyCap', options, [], () => ({
    algorithm: fixedWindowAlgorithm,
    params: [DAY_MS],
    windowMs: DAY_MS,
    reason: 'daily_quota_exceeded',
  }))
}

/**
 * Allows `limit` units each calendar month in UTC. The reason of its denials is
 * `monthly_quota_exceeded`.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * monthlyCap({ name: 'monthly', limit: 10_000, per: ['tenant'] })
 */
export function monthlyCap<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: PolicyOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('monthlyCap', options, [], () => ({
    algorithm: fixedWindowAlgorithm,
    params: [CALENDAR_MONTH],
    windowMs: 31 * DAY_MS,
    reason: 'monthly_quota_exceeded',
  }))
}
