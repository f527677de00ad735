import { InputError } from './errors.ts'
import { isUnits, MUST_BE_UNITS } from './internal/validation.ts'

/**
 * The units that a request asks for: a number of requests, or a whole number for each unit. `request`
 * and `call` (which `concurrency` counts) default to 1. Every other unit that a policy counts must be
 * present, even if it is 0. Without a type argument, any unit is accepted.
 *
 * @example
 * const cost: Cost = { request: 1, token: 1_200 }
 */
export type Cost<Unit extends string = string> =
  number | { readonly [Name in Unit | 'request' | 'call']?: number | undefined }

/**
 * Throws unless `cost` can be counted.
 *
 * @param units The units that the limiter's policies count.
 * @throws InputError `invalid_cost` when no policy counts a unit, or a number is not a whole number from
 * 0 to 10^14.
 */
export function assertCost(cost: Cost | undefined, units: ReadonlySet<string>): void {
  if (cost === undefined) return
  if (typeof cost === 'number') {
    if (!isUnits(cost)) throw invalid('cost.request', MUST_BE_UNITS)
  } else if (typeof cost === 'object' && cost !== null && !Array.isArray(cost)) {
    for (const unit of Object.keys(cost)) {
      if (!units.has(unit)) {
        const message = `names "${unit.slice(0, 60)}", but policies count ${[...units].join()}`
        throw invalid('cost', message)
      }
      const value = cost[unit]
      if (value !== undefined && !isUnits(value)) throw invalid(`cost.${unit}`, MUST_BE_UNITS)
    }
  } else {
    throw invalid('cost', 'must be a number or an object such as { token: 1200 }')
  }
}

/**
 * Returns the cost in one unit. The default is 1 for `request` and `call`.
 *
 * @throws InputError `invalid_cost` when the unit is missing.
 */
export function costIn(cost: Cost | undefined, unit: string): number {
  if (typeof cost === 'number' && unit === 'request') return cost
  let value: number | undefined
  if (typeof cost === 'object' && Object.hasOwn(cost, unit)) value = cost[unit]
  else if (unit === 'request' || unit === 'call') return 1
  if (value !== undefined) return value
  throw invalid(`cost.${unit}`, 'is missing, but a policy counts it; 0 charges nothing')
}

const invalid = (input: string, message: string): InputError =>
  new InputError('invalid_cost', input, message)
