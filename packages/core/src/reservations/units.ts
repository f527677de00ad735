import { runtimeOf } from '../limiter/runtime.ts'

/**
 * The units that a limiter's policies count, `request` among them, for a cost that names no other.
 *
 * @throws ConfigError When `limiter` was not made by `createLimiter`.
 * @example
 * unitNamesOf(limiter).has('usd') // true if a policy counts money
 */
export function unitNamesOf(limiter: object): ReadonlySet<string> {
  return runtimeOf(limiter).program.units
}
