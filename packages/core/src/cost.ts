import type { Policy } from './policy.ts'
import { InputError } from './errors.ts'
import { MAX_UNITS } from './validate.ts'

/**
 * Units asked for: a number of requests, or a whole number per unit. `request` and `call` (what
 * `concurrency` counts) are 1 unless given; any other unit that a policy counts must be given, if only
 * as 0.
 *
 * @example
 * const cost: Cost = { request: 1, token: 1_200 }
 */
export type Cost = number | Readonly<Record<string, number>>

/** What every request is, unless its cost says otherwise. */
const ONE_EACH: readonly (readonly [string, number])[] = [
  ['request', 1],
  ['call', 1],
]

/**
 * The cost by unit, for units that some policy counts.
 *
 * @throws InputError `invalid_cost` when a unit is unknown or no whole number from 0 to 10^12; and, from
 * what is returned, when a unit that is asked for is missing.
 */
export function costsOf(
  cost: Cost | undefined,
  policies: readonly Policy[],
): (unit: string) => number {
  const byUnit = new Map<string, unknown>(ONE_EACH)
  if (typeof cost === 'number') {
    byUnit.set('request', cost)
  } else if (typeof cost === 'object' && cost !== null && !Array.isArray(cost)) {
    const units = new Set(policies.map(({ unit }) => unit)).add('request')
    for (const [unit, value] of Object.entries(cost)) {
      if (!units.has(unit)) throw invalid('cost', 'names a unit that no policy counts')
      byUnit.set(unit, value)
    }
  } else if (cost !== undefined) {
    throw invalid('cost', 'must be a number of requests or an object of units')
  }
  for (const [unit, value] of byUnit) {
    if (value !== undefined && !isUnits(value)) throw invalid(`cost.${unit}`, MUST_BE_UNITS)
  }
  return (unit) => {
    const value = byUnit.get(unit)
    if (value === undefined) throw invalid(`cost.${unit}`, 'is missing, and a policy counts it')
    return value as number
  }
}

/** What `isUnits` asks for, in words. */
export const MUST_BE_UNITS: string = `must be a whole number from 0 to ${MAX_UNITS}`

/** Whether `value` is a number of units that can be counted. */
export function isUnits(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_UNITS
}

const invalid = (input: string, message: string): InputError =>
  new InputError('invalid_cost', input, message)
