import { invalidOption } from '@sluice/core/internal'
import type { Call } from '../call.ts'
import { priceOf, type Prices } from '@sluice/ai'
import { InputError, type PolicyRule } from '@sluice/core'

/** Returns what a call cost in micro-dollars: as the log tells, or by its model; `undefined` if neither does. */
export function dollarsOf({ subject, units }: Call, prices: Prices): number | undefined {
  const { usd, input_token: input, output_token: output } = units
  if (usd !== undefined) return usd
  if (subject.model === undefined || input === undefined || output === undefined) return undefined
  try {
    return priceOf({ input, output }, subject.model, prices)
  } catch (error) {
    // A model without a price is counted and reported.
    if (error instanceof InputError && error.code === 'unknown_model') return undefined
    throw error
  }
}

/** Creates a function that returns the cost of a call in the units that the rules count. */
export function createCost(
  rules: readonly PolicyRule[],
): (call: Call, usd: number | undefined) => Record<string, number> {
  const units = [...new Set(rules.map(({ unit }) => unit))].filter((unit) => unit !== 'request')
  return (call, usd) => {
    const cost: Record<string, number> = {}
    for (const unit of units) {
      const value = unit === 'usd' ? (usd ?? missingPrice(call)) : call.units[unit]
      if (value === undefined) throw missingUnit(unit)
      cost[unit] = value
    }
    return cost
  }
}

/** A model without a price costs nothing; a log without models and costs is a mistake. */
function missingPrice({ subject, units }: Call): number {
  if (units['input_token'] === undefined || units['output_token'] === undefined) {
    const message =
      'must name the cost, or input and output tokens: a policy counts dollars, and the log has neither'
    throw invalidOption('columns', message)
  }
  if (subject.model !== undefined) return 0
  const message =
    'must be the model whose price applies: a policy counts dollars, and the log has none'
  throw invalidOption('model', message)
}

function missingUnit(unit: string): Error {
  const field = unit === 'token' ? 'input=… and output=' : (UNIT_FIELDS[unit] ?? `unit:${unit}=`)
  return invalidOption('columns', `must name the column "${field}…": a policy counts "${unit}"`)
}

const UNIT_FIELDS: Readonly<Record<string, string>> = {
  input_token: 'input=',
  output_token: 'output=',
}
