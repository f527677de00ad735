/** Returns a table with aligned columns. Columns of numbers stand at the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows]
  const widths = head.map((_, at) => Math.max(...all.map((row) => (row[at] ?? '').length)))
  const isNumber = head.map((_, at) =>
    rows.every((row) => /^[-$\d. ]*$|^unlimited$/.test(row[at] ?? '')),
  )
  return all
    .map((row) =>
      row
        .map((cell, at) =>
          isNumber[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** Returns a duration as a person reads it: `1h 5m`, `37s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${ms}ms`
  let left = Math.ceil(ms / 1_000) * 1_000
  const parts: string[] = []
  for (const [name, length] of STEPS) {
    const count = Math.floor(left / length)
    left -= count * length
    if (count > 0 && parts.length < 2) parts.push(`${count}${name}`)
  }
  return parts.join(' ')
}

/** Returns units as a person reads them: micro-dollars as dollars. */
export function units(count: number | 'unlimited', unit: string): string {
  if (count === 'unlimited') return count
  return unit === 'usd'
    ? `$${(count / 1_000_000).toFixed(count % 10_000 === 0 ? 2 : 6)}`
    : String(count)
}

/** Returns units with their name: `3 requests`, `$1.50`. */
export const amount = (count: number, unit: string): string =>
  unit === 'usd' ? units(count, unit) : `${count} ${unit}${count === 1 ? '' : 's'}`
