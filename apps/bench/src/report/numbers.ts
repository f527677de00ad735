import type { Unit } from '../measure/row.ts'

/** Formats a figure with its unit, to about three significant digits. */
export function amount(value: number, unit: Unit): string {
  if (unit === 'dollars per million') return `$${value.toFixed(2)}`
  if (unit === 'bytes') return bytes(value)
  return `${significant(value)} ${unit}`
}

function bytes(value: number): string {
  if (value < 1_000) return `${significant(value)} B`
  return value < 1e6 ? `${significant(value / 1_000)} kB` : `${significant(value / 1e6)} MB`
}

/** Formats to about three significant digits, with commas between thousands. */
export function significant(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3
  return value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

/** The unit as the title of an axis. */
export const unitTitle = (unit: Unit): string => UNIT_TITLES[unit] ?? unit

const UNIT_TITLES: Partial<Record<Unit, string>> = {
  ms: 'milliseconds',
  µs: 'microseconds',
  'ms/MB': 'milliseconds per megabyte',
  'decisions/s': 'decisions per second',
  'look-ups/s': 'look-ups per second',
}
