/* The part of a `fit` that every reservation loads; `fitRange` has the rest. */
import type { LimiterCall } from '../limiter/call.ts'
import type { DecideCall, Outcome } from '../limiter/outcome.ts'
import type { LimiterRuntime } from '../limiter/runtime.ts'
import type { FitRange } from './fit.ts'
import { assertCost } from '../cost.ts'
import { InputError } from '../errors.ts'

/**
 * Returns the call with the cost of the floor.
 *
 * @throws InputError Unless `fitRange` created `fit`, and the rest of the cost can be counted.
 */
export function withFit(
  call: LimiterCall,
  fit: FitRange | undefined,
  { program }: LimiterRuntime,
): DecideCall {
  if (fit === undefined) return call
  if (typeof fit?.costAtFloor !== 'function') {
    throw new InputError('invalid_cost', 'fit', 'must be created by fitRange')
  }
  // Added to the floor's, a negative cost could pass for a valid one.
  assertCost(call.cost, program.units)
  return { ...call, cost: fit.costAtFloor(call.cost), fit }
}

/** Returns what an allowed call was granted: all, if nothing limits it. */
export function grantedOf({ call: { fit }, reply }: Outcome): { granted?: number } {
  if (fit === undefined) return {}
  const { verdicts, granted = verdicts.length > 0 ? fit.floor : fit.most } = reply
  return { granted }
}
