import { ConfigError } from '../errors.ts'

/**
 * The most units a limit or a cost may name: 10^12, a million dollars in micro-dollars. Sums of
 * such numbers stay far inside the integers that a double (and so Redis' Lua) holds exactly.
 */
export const MAX_UNITS = 1_000_000_000_000

/** Units allowed: a whole number from 0 (which allows nothing) to 10^12, or `'unlimited'`. */
export type Units = number | 'unlimited'

/** The rule that `isUnits` checks, as a part of an error text. */
export const MUST_BE_UNITS: string = `must be a whole number from 0 to ${MAX_UNITS}`

/** Returns true if `value` is a number of units that can be counted. */
export function isUnits(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_UNITS
}

/** @throws ConfigError Unless `value` is an object that may hold options. */
export function assertOptions(where: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigError('invalid_option', where, 'must be an object')
  }
}

/** @throws ConfigError Unless `value` is an object of options with none outside `known`. */
export function assertKnownOptions(where: string, value: unknown, known: readonly string[]): void {
  assertOptions(where, value)
  for (const option of Object.keys(value)) {
    if (known.includes(option)) continue
    const allowed = known.map((name) => `"${name}"`).join(', ')
    throw new ConfigError(
      'unknown_option',
      `${where}.${option}`,
      `unknown option; expected ${allowed}`,
    )
  }
}

/** Returns `value` if it is a function, else throws. */
export function assertFunction<T>(option: string, value: T): T {
  if (typeof value === 'function') return value
  throw new ConfigError('invalid_option', option, 'must be a function')
}

/** Returns `value` if it is a whole number from 1 to `max`, else throws. */
export function assertPositiveInteger(
  option: string,
  value: unknown,
  max: number = MAX_UNITS,
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) {
    return value
  }
  throw new ConfigError('invalid_option', option, `must be a whole number from 1 to ${max}`)
}

/** Returns `value` if it is a whole number from 0 to `MAX_UNITS` or `'unlimited'`, else throws. */
export function assertLimit(option: string, value: unknown): Units {
  if (value === 'unlimited' || isUnits(value)) return value
  throw new ConfigError(
    'invalid_option',
    option,
    `${MUST_BE_UNITS}, or "unlimited"; 0 allows nothing`,
  )
}

/** Returns `value` if it is a percentage, else throws. */
export function assertPercentage(option: string, value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 100) return value
  throw new ConfigError('invalid_option', option, 'must be a percentage from 0 to 100')
}

/** Returns `value` if it is one of `allowed`, else throws. */
export function assertOneOf<T extends string>(
  option: string,
  value: unknown,
  allowed: readonly T[],
): T {
  const found = allowed.find((item) => item === value)
  if (found !== undefined) return found
  const list = allowed.map((item) => `"${item}"`).join(', ')
  throw new ConfigError('invalid_option', option, `must be one of ${list}`)
}

/** A name that is safe in a key, in a structured header field and in a log line, unescaped. */
export function assertName(option: string, value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(value)) return value
  throw new ConfigError(
    'invalid_option',
    option,
    'must be 1 to 64 letters, digits, "_", "." or "-", starting with a letter or digit',
  )
}
