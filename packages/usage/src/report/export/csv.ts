import { csvLine, dollars } from '@sluice/core/internal/text'
import type { UsageRow } from '../../rows.ts'

const COLUMNS = [
  'start',
  'tenant',
  'route',
  'model',
  'plan',
  'outcome',
  'requests',
  'tokens',
  'usd',
  'dollars',
  'prevented_tokens',
  'prevented_usd',
  'prevented_dollars',
] as const

/**
 * Yields the lines of a CSV file of usage: a header with the names of a row, then a line for each row. Further
 * dimensions, as the first row has them, are the last columns. `start` is ISO
 * 8601: UTC, or with a calendar local time with its offset, and the column `time_zone`. `usd` is in micro-dollars, and `dollars` is the same in dollars. All three are of what was used: the
 * estimates of denied requests are in columns of their own, `prevented_…`.
 */
export function* usageCsvLines(rows: Iterable<UsageRow>): Generator<string> {
  let columns: readonly string[] | undefined
  let hasZone = false
  for (const row of rows) {
    const { start, tenant, route, model, plan, outcome, requests, tokens, usd } = row
    if (!columns) {
      columns = Object.keys(row.dimensions ?? {})
      hasZone = row.startsAt !== undefined
      yield csvLine([...COLUMNS, ...(hasZone ? ['time_zone'] : []), ...columns])
    }
    // As RFC 9557 has it: 2026-11-01T00:00:00+01:00[Europe/Berlin]
    const [local, zone] = (row.startsAt ?? new Date(start).toISOString()).split(/[[\]]/)
    const names = [local ?? '', tenant, route, model, plan, outcome]
    const amounts = [tokens, usd, dollars(usd)]
    const nothing = [0, 0, dollars(0)]
    const [used, prevented] = outcome === 'denied' ? [nothing, amounts] : [amounts, nothing]
    const others = columns.map((name) => row.dimensions?.[name] ?? '')
    const zones = hasZone ? [zone ?? ''] : []
    yield csvLine([...names, requests, ...used, ...prevented, ...zones, ...others])
  }
  if (!columns) yield csvLine(COLUMNS)
}

/**
 * Returns a CSV file of usage. Text that a spreadsheet would run as a formula gets an apostrophe in front.
 *
 * @example
 * const { rows } = await usage(limiter, { by: 'day' })
 * return new Response(usageCsv(rows), { headers: { 'content-type': 'text/csv; charset=utf-8' } })
 */
export const usageCsv = (rows: Iterable<UsageRow>): string => [...usageCsvLines(rows)].join('')
