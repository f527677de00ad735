import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { CALENDAR_MONTH, fixedWindowAlgorithm } from '../algorithms/fixed-window.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { policyOfRule } from './define-rule.ts'
import { configureResets, type Calendar, type Resets } from './resets.ts'

/** Options of `fixedWindow`. */
export type FixedWindowOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> = PolicyOptions<Partition, Unit, Name> & (EpochWindow | CalendarWindow)

/** Windows of one length. */
interface EpochWindow {
  /** The window's length. Windows are aligned to the Unix epoch, so that `'1d'` starts at midnight UTC. */
  readonly window: Duration
  readonly resets?: undefined
}

/** Windows of a calendar. */
interface CalendarWindow {
  readonly window?: undefined
  /** The periods of a calendar instead of a `window`, created by `calendar`. */
  readonly resets: Calendar
}

/** Options of `dailyCap` and `monthlyCap`. */
export interface CapOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
>
  extends PolicyOptions<Partition, Unit, Name>, Resets {}

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
  return policyOfRule('fixedWindow', options, ['window', 'resets'], () => {
    const resets = configureResets('fixedWindow', options)
    if (resets) return resets
    const windowMs = durationMs('fixedWindow.window', options.window)
    return { algorithm: fixedWindowAlgorithm, params: [windowMs], windowMs }
  })
}

/**
 * Allows `limit` units each calendar day, in UTC unless `resets` names another zone. The reason of its denials is
 * `daily_quota_exceeded`. Its key in Redis expires at midnight.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] })
 */
export function dailyCap<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: CapOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule(
    'dailyCap',
    options,
    ['resets'],
    () =>
      configureResets('dailyCap', options, 'day') ?? {
        algorithm: fixedWindowAlgorithm,
        params: [DAY_MS],
        windowMs: DAY_MS,
        reason: 'daily_quota_exceeded',
      },
  )
}

/**
 * Allows `limit` units each calendar month, in UTC from the first on unless `resets` names another zone or day. The reason
 * of its denials is `monthly_quota_exceeded`.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * monthlyCap({ name: 'monthly', limit: 10_000, per: ['tenant'] })
 */
export function monthlyCap<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: CapOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule(
    'monthlyCap',
    options,
    ['resets'],
    () =>
      configureResets('monthlyCap', options, 'month') ?? {
        algorithm: fixedWindowAlgorithm,
        params: [CALENDAR_MONTH],
        windowMs: 31 * DAY_MS,
        reason: 'monthly_quota_exceeded',
      },
  )
}
