import type { PolicyRule } from '../policies/policy.ts'
import type { Entry } from './routes.ts'
import { ConfigError } from '../errors.ts'

/** The units that are 1 unless a cost says otherwise. */
const ONE_EACH = ['request', 'call']

/**
 * Holds a route's fixed cost against the policies: it must have each unit that one of them counts there
 * and that is not 1 by itself, and no unit that none of them counts. Every request would be refused as
 * an error otherwise.
 */
export function holdCost<Context extends unknown[]>(
  { place, options, route: { id, cost } }: Entry<Context>,
  policies: readonly PolicyRule[],
): void {
  if (cost === undefined || typeof cost === 'function') return
  const option = options.cost === undefined ? 'manifest.defaults.cost' : `${place}.cost`
  const given = typeof cost === 'object' ? Object.keys(cost) : []
  const has = new Set([...given, ...ONE_EACH])
  const counted = new Set(policies.map(({ unit }) => unit)).add('request')
  for (const unit of given) {
    if (counted.has(unit)) continue
    const message = `names the unit "${unit}", which no policy counts`
    throw new ConfigError('invalid_option', option, message)
  }
  for (const { name, unit, routes } of policies) {
    if (has.has(unit) || (routes !== undefined && !routes.includes(id))) continue
    const message = `lacks the unit "${unit}", which the policy "${name}" counts on the route "${id}"`
    throw new ConfigError('invalid_option', option, message)
  }
}
