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
