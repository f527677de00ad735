import type { PolicyRule } from '../policies/policy.ts'
import type { RouteEntry } from './routes.ts'
import { invalidOption } from '../internal/validation.ts'

/** The units that are 1 unless a cost has them. */
const DEFAULT_UNITS = ['request', 'call']

/**
 * Checks a route's fixed cost against the policies. It must have each unit that a policy counts on the
 * route, except those that are 1 by default, and no unit that no policy counts. Otherwise every request
 * to the route would fail.
 *
 * @throws ConfigError When a unit is missing, or is not counted.
 */
export function assertFixedCost<Context extends unknown[]>(
  { path, options, route: { id, cost } }: RouteEntry<Context>,
  rules: readonly PolicyRule[],
): void {
  if (cost === undefined || typeof cost === 'function') return
  const option = options.cost === undefined ? 'manifest.defaults.cost' : `${path}.cost`
  const units = typeof cost === 'object' ? Object.keys(cost) : []
  const counted = new Set(rules.map(({ unit }) => unit)).add('request')
  const unknown = units.find((unit) => !counted.has(unit))
  if (unknown !== undefined) {
    throw invalidOption(option, `must not name the unit "${unknown}", which no policy counts`)
  }
  const present = new Set([...units, ...DEFAULT_UNITS])
  for (const { name, unit, routes } of rules) {
    if (present.has(unit) || (routes !== undefined && !routes.includes(id))) continue
    const message = `must name the unit "${unit}", which the policy "${name}" counts on the route "${id}"`
    throw invalidOption(option, message)
  }
}
