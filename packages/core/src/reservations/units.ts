import { runtimeOf } from '../limiter/runtime.ts'

/**
 * Returns the units that a cost may name: those that the limiter's policies count, and `request`.
 *
 * @throws ConfigError When `createLimiter` did not create `limiter`.
 * @example
 * unitNamesOf(limiter).has('usd') // true if a policy counts money
 */
export function unitNamesOf(limiter: object): ReadonlySet<string> {
  return runtimeOf(limiter).program.units
}
