import { invalidOption } from '@sluice/core/internal'
import { readCounters } from '../counters/read-counters.ts'
import { PERIOD_MS, periodKey } from '../hours.ts'
import type { UsageHandle } from '../recording/record-usage.ts'
import type { StoredPeriod, Usage } from '../rows.ts'
import { rowsOf, type PeriodRows } from './parse-cells.ts'
import { byTimeAndNames, renaming, select } from './select-rows.ts'

/** A time: a date, epoch ms, or a text such as `'2026-11-22'` (UTC). */
export type Time = Date | number | string

/** The most hours or days in one call. */
export const MAX_PERIODS = 10_000

/** The hours or days to read, from a start to an end. */
interface StoredRange {
  readonly by: StoredPeriod
  readonly from: number
  readonly to: number
  readonly tenants: readonly string[] | undefined
}

/** Returns the whole hours or days of a range. @throws ConfigError When it is empty or too long. */
export function storedRange(
  by: StoredPeriod,
  start: number | undefined,
  end: number,
  count: number,
): { readonly from: number; readonly to: number } {
  const length = PERIOD_MS[by]
  const to = Math.ceil(end / length) * length
  const from = Math.floor((start ?? to - count * length) / length) * length
  if (from < to && (to - from) / length <= MAX_PERIODS) return { from, to }
  const message = `must be before usage.to, by at most ${MAX_PERIODS} hours or days`
  throw invalidOption('usage.from', message)
}

/** Reads hours or days as they are stored. @throws StoreError When the store fails. */
export async function readStored(
  { records, clock, dimensions, tenants: form }: UsageHandle,
  { by, from, to, tenants }: StoredRange,
): Promise<Usage> {
  const length = PERIOD_MS[by]
  const starts = Array.from({ length: (to - from) / length }, (_, index) => from + index * length)
  const keys = starts.map((start) => periodKey(by, start))
  const periods = await readCounters(records, keys, clock())
  const read = periods.map((cells, index) => rowsOf(cells, starts[index] ?? 0, dimensions))
  const ids = tenants && (await renaming(tenants, form))
  const all = <Name extends keyof PeriodRows>(name: Name): PeriodRows[Name][number][] =>
    select<PeriodRows[Name][number]>(
      read.flatMap((period): readonly PeriodRows[Name][number][] => period[name]),
      ids,
    ).toSorted(byTimeAndNames)
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

/** Returns a time in epoch ms. @throws ConfigError When it is none. */
export function timeOf(option: string, time: Time): number {
  const ms = new Date(time).getTime()
  if (ms >= 0) return ms
  const message = 'must be a date, milliseconds since 1970, or a text such as "2026-11-22"'
  throw invalidOption(option, message, time)
}
