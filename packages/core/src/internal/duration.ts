import { ConfigError } from '../errors.ts'

type Unit = 'ms' | 's' | 'm' | 'h' | 'd'

/**
 * A length of time: `'500ms'`, `'10s'`, `'1m'`, `'24h'` or `'30d'`, also with a space (`'60 s'`), or a number of
 * milliseconds. A number is at least 1,000: less would be seconds by mistake.
 */
export type Duration = `${number}${Unit}` | `${number} ${Unit}` | number

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
])

const MAX_MS = 366 * 86_400_000

/** The least number of milliseconds without a unit. */
const LEAST_NUMBER = 1_000

/**
 * Converts a duration to milliseconds.
 *
 * @throws ConfigError `invalid_duration` unless it is a whole number of milliseconds from 1 to 366 days, and
 * from 1,000 if it is written as a number.
 */
export function durationMs(option: string, duration: unknown): number {
  const ms = typeof duration === 'string' ? parseDuration(duration) : duration
  const least = ms === duration ? LEAST_NUMBER : 1
  if (typeof ms === 'number' && Number.isInteger(ms) && ms >= least && ms <= MAX_MS) return ms
  throw new ConfigError(
    'invalid_duration',
    option,
    `must be a text such as "500ms", "60s" or "30d", or milliseconds from ${LEAST_NUMBER}; at most 366 days`,
    duration,
  )
}

/** Returns a text such as `24h` in milliseconds; `NaN` if it is no duration. */
export function parseDuration(text: string): number {
  const match = /^(\d{1,15}) ?(ms|s|m|h|d)$/.exec(text)
  return match ? Number(match[1]) * (UNIT_MS.get(match[2] ?? '') ?? Number.NaN) : Number.NaN
}
