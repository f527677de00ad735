import { ConfigError } from '../errors.ts'

/**
 * The largest limit or cost: 10^14, which is a hundred million dollars in micro-dollars. Sums of such numbers stay
 * far below 2^53, up to which doubles, and so Redis' Lua, are exact. Lua's own way to print a number has fourteen
 * digits, so scripts write numbers with `%.0f`.
 */
export const MAX_UNITS = 100_000_000_000_000

/** A number of units allowed: a whole number from 0 (which allows nothing) to 10^14, or `'unlimited'`. */
export type Units = number | 'unlimited'

/** The rule that `isUnits` checks, as a part of an error text. */
export const MUST_BE_UNITS: string = `must be a whole number from 0 to ${MAX_UNITS}`

/** Returns true if `value` is a number of units that can be counted. */
export function isUnits(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_UNITS
}

/** Returns the error of an option. @param given Its value, to show it in the message. */
export const invalidOption = (
  option: string,
  reason: string,
  ...given: [given?: unknown]
): ConfigError => new ConfigError('invalid_option', option, reason, ...given)

/** Throws a `ConfigError` unless `value` is an object. */
export function assertOptions(option: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidOption(option, `must be an object, not ${typeof value}`)
  }
}

/** Throws a `ConfigError` unless `value` is an object whose keys are all in `known`. */
export function assertKnownOptions(option: string, value: unknown, known: readonly string[]): void {
  assertOptions(option, value)
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const message = `unknown option; expected "${known.join('", "')}"`
    throw new ConfigError('unknown_option', `${option}.${key}`, message)
  }
}

/** Throws a `ConfigError` that names `option`, unless `value` is allowed. */
export type OptionRule = (option: string, value: unknown) => unknown

/** The rule of each option of a function. */
export type OptionRules<Options> = Readonly<Record<keyof Options, OptionRule>>

/**
 * Throws a `ConfigError` unless `options` is an object whose options all have a rule and keep it. An option that
 * is left out keeps every rule, unless it is `required`.
 */
export function assertOptionRules(
  option: string,
  options: unknown,
  rules: Readonly<Record<string, OptionRule>>,
  ...required: readonly string[]
): void {
  assertKnownOptions(option, options, Object.keys(rules))
  for (const [name, rule] of Object.entries(rules)) {
    const value = (options as Readonly<Record<string, unknown>>)[name]
    if (value !== undefined || required.includes(name)) rule(`${option}.${name}`, value)
  }
}

/** Creates a rule from what it allows, and the end of an error's text: `must be ${mustBe}`. */
export function optionRule(isAllowed: (value: unknown) => boolean, mustBe: string): OptionRule {
  return (option, value) => {
    if (isAllowed(value)) return
    throw invalidOption(option, `must be ${mustBe}`, value)
  }
}

/** Creates a rule that allows these values. */
export const oneOf = (...values: readonly unknown[]): OptionRule =>
  optionRule(
    (value) => values.includes(value),
    values.map((value) => JSON.stringify(value)).join(' or '),
  )

/** Creates a rule that allows objects with this method. */
export const hasMethod = (method: string, mustBe: string): OptionRule =>
  optionRule(
    (value) => typeof (value as Readonly<Record<string, unknown>> | null)?.[method] === 'function',
    mustBe,
  )

/** A rule that allows texts that are not empty. */
export const assertText: OptionRule = /* @__PURE__ */ optionRule(isText, 'a text')

/** A rule that allows lists of texts that are not empty. */
export const assertTexts: OptionRule = /* @__PURE__ */ optionRule(
  (value) => Array.isArray(value) && value.every(isText),
  'a list of texts',
)

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** Returns `value` if it is a function, else throws. */
export function assertFunction<T>(option: string, value: T): T {
  if (typeof value === 'function') return value
  throw invalidOption(option, 'must be a function', value)
}

/** Returns `value` if it is left out or has a method, as what `factory` creates has. @throws ConfigError Otherwise. */
export function assertCreatedBy<T>(
  factory: string,
  option: string,
  value: T,
  method: keyof NonNullable<T>,
): T {
  if (value === undefined || typeof value?.[method] === 'function') return value
  throw invalidOption(option, `must be created by ${factory}`, value)
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
  throw invalidOption(option, `must be a whole number from 1 to ${max}`, value)
}

/** Returns `value` if it is a whole number in a range, else throws. */
export function assertInteger(option: string, value: unknown, least: number, most: number): number {
  const number = Number.isInteger(value) ? (value as number) : Number.NaN
  if (number >= least && number <= most) return number
  throw invalidOption(option, `must be a whole number from ${least} to ${most}`, value)
}

/**
 * Returns `value` if it is a whole number from 0 to `MAX_UNITS` or `'unlimited'`, else throws.
 *
 * @param hint The end of the error's text.
 */
export function assertLimit(option: string, value: unknown, hint = ''): Units {
  if (value === 'unlimited' || isUnits(value)) return value
  throw invalidOption(option, `${MUST_BE_UNITS}, or "unlimited"; 0 allows nothing${hint}`, value)
}

/** Throws unless `value` is a part of the whole: a number above 0, up to 1. */
export function assertShare(option: string, value: unknown): void {
  if (typeof value === 'number' && value > 0 && value <= 1) return
  throw invalidOption(option, 'must be a number above 0, up to 1', value)
}

/** Returns `value` if it is a percentage, else throws. One below 1 is likely to be a share. */
export function assertPercentage(option: string, value: unknown): number {
  if (value === 0 || (typeof value === 'number' && value >= 1 && value <= 100)) return value
  throw invalidOption(option, 'must be a percentage: 0, or from 1 to 100 (50 for a half)', value)
}

/** Returns `value` if it is one of `allowed`, else throws. */
export function assertOneOf<T extends string | number>(
  option: string,
  value: unknown,
  allowed: readonly T[],
): T {
  const match = allowed.find((item) => item === value)
  if (match !== undefined) return match
  throw invalidOption(option, `must be one of "${allowed.join('", "')}"`, value)
}

/** Returns `value` if it is a name that needs no escaping in keys, header fields and logs, else throws. */
export function assertName(option: string, value: unknown): string {
  if (typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(value)) return value
  throw invalidOption(
    option,
    'must be 1 to 64 letters, digits, "_", "." or "-", starting with a letter or digit',
    value,
  )
}
