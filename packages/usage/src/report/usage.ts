import { ConfigError, type Limiter } from '@sluice/core'
import { assertKnownOptions, assertOneOf } from '@sluice/core/internal'
import { readCounters } from '../counters/read-counters.ts'
import { PERIOD_MS, periodKey } from '../hours.ts'
import { usageHandle } from '../recording/record-usage.ts'
import { tenantNames } from '../recording/tenant-names.ts'
import type { Period, Usage } from '../rows.ts'
import { rowsOf, type PeriodRows } from './parse-cells.ts'

/** A time: a date, epoch ms, or a text such as `'2026-11-22'` (UTC). */
export type Time = Date | number | string

/** Options of `usage`. */
export interface UsageOptions {
  /** Rows for each hour or for each day (UTC). @default 'hour' */
  readonly by?: Period
  /** The start: its whole hour or day is included. @default 24 hours or 31 days before `to` */
  readonly from?: Time
  /** The end: the hour or day that contains it is included, unless it begins there. @default now */
  readonly to?: Time
  /** Only these tenants, whose rows have the ids given here even if hashes are stored. @default all */
  readonly tenants?: readonly string[]
}

const DEFAULT_PERIODS = { hour: 24, day: 31 } as const

/** The most hours or days in one call. */
const MAX_PERIODS = 10_000

/**
 * Reads back what `recordUsage` has counted, in this process and in all others that have flushed.
 *
 * @throws ConfigError When an option is malformed, or the limiter has no `recordUsage`.
 * @throws StoreError When the store fails.
 * @example
 * const { rows } = await usage(limiter, { from: '2026-11-01', by: 'day' })
 */
export async function usage(limiter: Limiter, options: UsageOptions = {}): Promise<Usage> {
  assertKnownOptions('usage', options, ['by', 'from', 'to', 'tenants'])
  const by = assertOneOf('usage.by', options.by ?? 'hour', ['hour', 'day'])
  const handle = usageHandle(limiter)
  const now = handle.clock()
  const { from, to } = rangeOf(options, by, now)
  await handle.flush()

  const length = PERIOD_MS[by]
  const starts = Array.from({ length: (to - from) / length }, (_, index) => from + index * length)
  const keys = starts.map((start) => periodKey(by, start))
  const periods = await readCounters(handle.records, keys, now)
  const read = periods.map((cells, index) => rowsOf(cells, starts[index] ?? 0, handle.dimensions))
  const rename = options.tenants && (await renaming(options.tenants, handle.tenants))
  const all = <Name extends keyof PeriodRows>(name: Name): PeriodRows[Name][number][] =>
    select<PeriodRows[Name][number]>(
      read.flatMap((period): readonly PeriodRows[Name][number][] => period[name]),
      rename,
    )
  const choices = all('choices')
  return {
    by,
    from,
    to,
    rows: all('rows'),
    ...(by === 'hour' && { quarters: all('quarters') }),
    policies: all('policies'),
    ...(choices.length > 0 && { choices }),
  }
}

function rangeOf(
  options: UsageOptions,
  by: Period,
  now: number,
): { readonly from: number; readonly to: number } {
  const length = PERIOD_MS[by]
  const to = Math.ceil(timeOf('usage.to', options.to ?? now + 1) / length) * length
  const first = options.from ?? to - DEFAULT_PERIODS[by] * length
  const from = Math.floor(timeOf('usage.from', first) / length) * length
  if (from < to && (to - from) / length <= MAX_PERIODS) return { from, to }
  const message = `must be before usage.to, by at most ${MAX_PERIODS} hours or days`
  throw new ConfigError('invalid_option', 'usage.from', message)
}

function timeOf(option: string, time: Time): number {
  const ms = new Date(time).getTime()
  if (ms >= 0) return ms
  const message = 'must be a date, milliseconds since 1970, or a text such as "2026-11-22"'
  throw new ConfigError('invalid_option', option, message, time)
}

/** Returns the ids of tenants by the names under which they are stored. */
async function renaming(
  tenants: readonly string[],
  form: Parameters<typeof tenantNames>[1],
): Promise<ReadonlyMap<string, string>> {
  const names = await tenantNames(tenants, form)
  return new Map(Array.from(names, ([tenant, name]) => [name, tenant]))
}

/** Returns the rows of the tenants to select, under their ids, sorted. */
function select<Row extends { readonly start: number; readonly tenant: string }>(
  rows: readonly Row[],
  ids: ReadonlyMap<string, string> | undefined,
): Row[] {
  const selected = ids
    ? rows.flatMap((row) => {
        const tenant = ids.get(row.tenant)
        return tenant === undefined ? [] : [{ ...row, tenant }]
      })
    : [...rows]
  return selected.toSorted(byTimeAndNames)
}

const comparable = (value: string | number | object): string | number =>
  typeof value === 'object' ? Object.values(value).join() : value

/** Orders rows by time, then by their names from left to right. */
function byTimeAndNames(a: object, b: object): number {
  const others = Object.values(b) as (string | number | object)[]
  for (const [index, one] of (Object.values(a) as typeof others).entries()) {
    const [value, other] = [comparable(one), comparable(others[index] ?? '')]
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}
