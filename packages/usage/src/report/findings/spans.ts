import { PERIOD_MS, QUARTER_MS } from '../../hours.ts'
import type { UsageRow } from '../../rows.ts'
import { sumByTime } from './series.ts'

/** A quarter-hour, two in a row, or an hour. */
export interface Span {
  readonly start: number
  readonly ms: number
}

/** Adds up values by span. */
export function sumBySpan(
  rows: readonly UsageRow[],
  quarterRows: readonly UsageRow[],
  valueOf: (row: UsageRow) => number,
): { readonly spans: readonly Span[]; readonly sumOf: (span: Span) => number } {
  const hours = sumByTime(rows, valueOf)
  const quarters = sumByTime(quarterRows, valueOf)
  const spans = [...quarters.keys()].flatMap((start) => [
    { start, ms: QUARTER_MS },
    { start, ms: 2 * QUARTER_MS },
  ])
  for (const start of hours.keys()) spans.push({ start, ms: PERIOD_MS.hour })
  spans.sort((a, b) => a.start - b.start || a.ms - b.ms)
  const sumOf = ({ start, ms }: Span): number => {
    if (ms === PERIOD_MS.hour) return hours.get(start) ?? 0
    const next = ms === QUARTER_MS ? 0 : (quarters.get(start + QUARTER_MS) ?? 0)
    return (quarters.get(start) ?? 0) + next
  }
  return { spans, sumOf }
}

/** The length of a span in minutes. */
export const minutesOf = ({ ms }: Span): number => ms / 60_000
