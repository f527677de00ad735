import { InputError } from './errors.ts'
import { isUnits, MUST_BE_UNITS } from './internal/validation.ts'

/**
 * Units asked for: a number of requests, or a whole number per unit. `request` and `call` (what
 * `concurrency` counts) are 1 unless given; any other unit that a policy counts must be given, if only
 * as 0. Without a type argument, any unit.
 *
 * @example
 * const cost: Cost = { request: 1, token: 1_200 }
 */
export type Cost<Unit extends string = string> =
  number | { readonly [Name in Unit | 'request' | 'call']?: number | undefined }

/**
 * Refuses a cost that cannot be counted.
 *
 * @param units The units that some policy counts.
 * @throws InputError `invalid_cost` when a unit is unknown or no whole number from 0 to 10^12.
 */
export function assertCost(cost: Cost | undefined, units: ReadonlySet<string>): void {
  if (cost === undefined) return
  if (typeof cost === 'number') {
    if (!isUnits(cost)) throw invalid('cost.request', MUST_BE_UNITS)
  } else if (typeof cost === 'object' && cost !== null && !Array.isArray(cost)) {
    for (const unit of Object.keys(cost)) {
      if (!units.has(unit)) throw invalid('cost', 'names a unit that no policy counts')
      const value = cost[unit]
      if (value !== undefined && !isUnits(value)) throw invalid(`cost.${unit}`, MUST_BE_UNITS)
    }
  } else {
    throw invalid('cost', 'must be a number of requests or an object of units')
  }
}

/**
 * The cost in one unit: each request is 1 `request` and 1 `call` unless its cost says otherwise.
 *
 * @throws InputError `invalid_cost` when the unit is missing.
 */
export function costIn(cost: Cost | undefined, unit: string): number {
  if (typeof cost === 'number' && unit === 'request') return cost
  let value: number | undefined
  if (typeof cost === 'object' && Object.hasOwn(cost, unit)) value = cost[unit]
  else if (unit === 'request' || unit === 'call') return 1
  if (value !== undefined) return value
  throw invalid(`cost.${unit}`, 'is missing, and a policy counts it')
}

const invalid = (input: string, message: string): InputError =>
  new InputError('invalid_cost', input, message)
