const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** The length of a quarter of an hour in milliseconds. */
export const QUARTER_MS = 900_000

/** The quarters of an hour that a cell has counts of, beside those of its hour. */
export const QUARTERS = 4

/** The start of the hour that contains `at` (UTC), in epoch ms. */
export const hourOf = (at: number): number => at - (at % HOUR_MS)

/** The number of the quarter of its hour that contains `at`, from 0. */
export const quarterOf = (at: number): number => Math.floor((at % HOUR_MS) / QUARTER_MS)

/** The start of the day that contains `at` (UTC), in epoch ms. */
export const dayOf = (at: number): number => at - (at % DAY_MS)

/** The month that contains `at` (UTC), in epoch ms. */
export function monthOf(at: number): { readonly start: number; readonly end: number } {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  return { start: Date.UTC(year, month), end: Date.UTC(year, month + 1) }
}

/** The length of a period in milliseconds. */
export const PERIOD_MS: { readonly hour: number; readonly day: number } = {
  hour: HOUR_MS,
  day: DAY_MS,
}

/** The key of the hash that holds an hour, such as `usage:hour:2026-11-22T18`, or a day. */
export const periodKey = (by: 'hour' | 'day', start: number): string =>
  `usage:${by}:${new Date(start).toISOString().slice(0, by === 'hour' ? 13 : 10)}`
