import { PERIOD_MS } from '../../hours.ts'

/** Groups items by a key. */
export function groupBy<Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => string,
): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Adds up values by time. */
export function sumByTime<Row extends { readonly start: number }>(
  rows: Iterable<Row>,
  valueOf: (row: Row) => number,
  timeOf: (start: number) => number = (start) => start,
): Map<number, number> {
  const sums = new Map<number, number>()
  for (const row of rows) {
    const at = timeOf(row.start)
    sums.set(at, (sums.get(at) ?? 0) + valueOf(row))
  }
  return sums
}

export const sum = (values: Iterable<number>): number => {
  let total = 0
  for (const value of values) total += value
  return total
}

/** The middle value, or 0 of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/** The standard deviation as a share of the mean. */
export function variation(values: readonly number[]): number {
  const mean = sum(values) / values.length
  const squares = values.map((value) => (value - mean) ** 2)
  return Math.sqrt(sum(squares) / values.length) / mean
}

const HOURS = 24

/** Returns each 24 hours in a row. Hours without a value have `missing`; if there is none, their days are left out. */
export function hourWindows(
  byHour: ReadonlyMap<number, number>,
  missing?: number,
): { readonly start: number; readonly values: readonly number[] }[] {
  const starts = [...byHour.keys()].toSorted((a, b) => a - b)
  const [first = 0] = starts
  const last = starts.at(-1) ?? first
  const hours = Array.from(
    { length: (last - first) / PERIOD_MS.hour + HOURS },
    (_, hour) => byHour.get(first + hour * PERIOD_MS.hour) ?? missing,
  )
  return starts.flatMap((start) => {
    const from = (start - first) / PERIOD_MS.hour
    const values = hours.slice(from, from + HOURS)
    return values.includes(undefined) ? [] : [{ start, values: values as number[] }]
  })
}

/** The most that thirds of a night and a day differ if nobody sleeps. */
const MOST_VARIATION = 0.08

/** Sums of three hours in a row, without the first and the last hour, which may be parts of one. */
export const threeHourSums = (hours: readonly number[]): number[] =>
  Array.from({ length: Math.floor((hours.length - 2) / 3) }, (_, index) =>
    sum(hours.slice(1 + 3 * index, 4 + 3 * index)),
  )

/** Returns true if hours are alike, but for short pauses and for chance. */
export function flatDay(hours: readonly number[]): boolean {
  const sums = threeHourSums(hours)
  const chance = 1 / Math.sqrt(sum(sums) / sums.length)
  return variation(sums) <= MOST_VARIATION + Math.min(chance, 0.14)
}
