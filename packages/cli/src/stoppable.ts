/* The policies by which one tenant can be stopped. */
import { definitionOf, type Limiter, type PolicyRule } from '@sluice/core'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { refuse } from './errors.ts'

/**
 * Lists the policies that count by tenant alone, on all routes, and whose limit may be changed at run time: with a limit
 * of 0, each denies a tenant what it counts, and another nothing.
 *
 * @throws CommandError When there is none.
 */
export function stoppablePolicies(limiter: Limiter, file: string): readonly string[] {
  const { extensions } = runtimeOf(limiter)
  const { rules } = definitionOf(limiter)
  const ofTenants = namesOf(
    rules.filter(({ per, routes }) => String(per) === 'tenant' && routes === undefined),
  )
  const names = ofTenants.filter((name) =>
    extensions.some(({ configures }) => configures(name, 'limit')),
  )
  if (names.length > 0) return names
  return refuse(
    ofTenants.length > 0
      ? `no limit of a tenant may be changed: allow the limit of ${ofTenants.join(', ')} by runtimeConfiguration in ${file}`
      : `no policy counts by tenant alone, on all routes, but ${namesOf(rules).join(', ')}: add one per ['tenant'] to ${file}, and allow its limit by runtimeConfiguration`,
  )
}

const namesOf = (rules: readonly PolicyRule[]): string[] => [
  ...new Set(rules.map(({ name }) => name)),
]

/** Returns the tenant that a command names. @throws CommandError */
export function tenantIn(name: string, given: readonly string[]): { readonly tenant: string } {
  const [tenant, ...others] = given
  if (tenant !== undefined && others.length === 0) return { tenant }
  return refuse(`name one tenant, such as: sluice ${name} acme`)
}
