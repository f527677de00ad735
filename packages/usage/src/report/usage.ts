import type { Limiter } from '@sluice/core'
import type { Anchor, PeriodStart } from '@sluice/core/calendars'
import { assertKnownOptions, assertOneOf } from '@sluice/core/internal'
import { usageHandle } from '../recording/record-usage.ts'
import type { Period, Usage } from '../rows.ts'
import { readStored, storedRange, timeOf, type Time } from './read-stored.ts'

/** Options of `usage`. */
export interface UsageOptions {
  /** Rows for each hour (UTC), day, week, month or year. @default 'hour' */
  readonly by?: Period
  /** The start: its whole period is included. @default 24 hours, 31 days, 5 weeks, 2 months or a year before `to` */
  readonly from?: Time
  /** The end: the period that contains it is included, unless it begins there. @default now */
  readonly to?: Time
  /** Only these tenants, whose rows have the ids given here even if hashes are stored. @default all */
  readonly tenants?: readonly string[]
  /** The time zone of periods, and of times without an offset: `'Europe/Berlin'`. @default 'UTC' */
  readonly zone?: string
  /** The local time at which periods begin, as that of `calendar` of `@sluice/core/calendars`. @default midnight */
  readonly on?: PeriodStart
  /** A date whose day and hour return in each period, instead of `on`. @default `on` */
  readonly anchor?: Anchor
}

/** The periods before `to` that are read by default. */
const DEFAULT_PERIODS = { hour: 24, day: 31, week: 5, month: 2, year: 1 } as const

/**
 * Reads back what `recordUsage` has counted, in this process and in all others that have flushed.
 *
 * @throws ConfigError When an option is malformed, or the limiter has no `recordUsage`.
 * @throws StoreError When the store fails.
 * @example
 * const { rows } = await usage(limiter, { from: '2026-11-01', by: 'day', zone: 'Europe/Berlin' })
 */
export async function usage(limiter: Limiter, options: UsageOptions = {}): Promise<Usage> {
  const names = ['by', 'from', 'to', 'tenants', 'zone', 'on', 'anchor'] as const
  assertKnownOptions('usage', options, names)
  const { zone, on, anchor, tenants } = options
  const periods = Object.keys(DEFAULT_PERIODS) as Period[]
  const by = assertOneOf('usage.by', options.by ?? 'hour', periods)
  const count = DEFAULT_PERIODS[by]
  const handle = usageHandle(limiter)
  const isStored = (by === 'hour' || by === 'day') && (zone ?? on ?? anchor) === undefined
  if (!isStored) {
    // Most reports have no use for the rules of time zones.
    const { usageInCalendar } = await import('./calendar/usage-in-calendar.ts')
    return usageInCalendar(handle, { ...options, by, count })
  }
  const first = options.from === undefined ? undefined : timeOf('usage.from', options.from)
  const end = timeOf('usage.to', options.to ?? handle.clock() + 1)
  const { from, to } = storedRange(by, first, end, count)
  await handle.flush()
  return readStored(handle, { by, from, to, tenants })
}
