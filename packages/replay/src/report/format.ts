import { unitsText } from '@sluice/core/internal/text'

/** Formats a whole number with commas between thousands. */
export const count = (value: number): string => value.toLocaleString('en-US')

/** Formats a number of things. The plural has an `s`. */
export const counted = (value: number, name: string): string =>
  `${count(value)} ${name}${value === 1 ? '' : 's'}`

/** Formats micro-dollars as dollars; small amounts with four digits. */
export function dollars(microDollars: number): string {
  const value = microDollars / 1_000_000
  const digits = value !== 0 && Math.abs(value) < 1 ? 4 : 2
  return `$${value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`
}

/** Formats a limit, whose last digit counts. */
export const limitText = (value: number, unit: string): string =>
  unit === 'usd' ? unitsText(value, unit) : count(value)

/** Formats a share of a whole as a percentage. */
export const percent = (part: number, whole: number): string =>
  whole === 0 ? '0 %' : `${((part / whole) * 100).toFixed(1)} %`

/** Formats an ISO time for people, in UTC and whole seconds. */
export const time = (iso: string | undefined): string =>
  iso === undefined ? '-' : `${iso.slice(0, 10)} ${iso.slice(11, 19)}`
