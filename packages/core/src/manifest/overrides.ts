import type { Burst, Limit, LimitContext, Units } from '../policies/limit.ts'
import type { PolicyRule } from '../policies/policy.ts'
import { rulesSharingKeys } from '../policies/rules.ts'
import type { Entry } from './routes.ts'
import type { PolicyOverride } from './types.ts'
import { ConfigError } from '../errors.ts'
import { resolveLimits, assertBurst, assertLimitOption } from '../policies/limit.ts'
import { assertKnownOptions, assertOptions } from '../internal/validation.ts'
import { inPlaceOf } from './place.ts'
import { limitIn, limitOf, resolved } from './policies.ts'

/** What is different about a policy on one route. */
interface Override {
  /** Where the manifest says so. */
  readonly place: string
  readonly limit: Limit | undefined
  readonly burst: Burst | undefined
}

/** The policies for every route, with what the routes say is different about them. */
export function overridden<Context extends unknown[]>(
  policies: readonly PolicyRule[],
  entries: readonly Entry<Context>[],
): readonly PolicyRule[] {
  const byName = new Map(policies.map((policy) => [policy.name, policy]))
  const overrides = new Map(policies.map(({ name }) => [name, new Map<string, Override>()]))
  const leftOut = new Map(policies.map(({ name }) => [name, new Set<string>()]))
  for (const {
    place: route,
    options,
    route: { id },
  } of entries) {
    assertOptions(`${route}.overrides`, options.overrides ?? {})
    for (const [name, override] of Object.entries(options.overrides ?? {})) {
      const place = `${route}.overrides.${name}`
      const policy = byName.get(name)
      if (policy === undefined || policy.routes?.includes(id) === false) {
        const message = 'must name a policy of the manifest that applies to this route'
        throw new ConfigError('invalid_option', place, message)
      }
      if (!counts(override)) refusePartOf(policy, policies, options.overrides ?? {}, place)
      if (override === false) leftOut.get(name)?.add(id)
      else overrides.get(name)?.set(id, overrideOf(place, policy, override))
    }
  }
  const ids = entries.map(({ route }) => route.id)
  return policies.map((policy) => {
    const without = leftOut.get(policy.name)
    const own = withOverrides(policy, overrides.get(policy.name) ?? new Map())
    if (!without?.size) return own
    const routes = (policy.routes ?? ids).filter((id) => !without.has(id))
    return Object.freeze({ ...own, routes: Object.freeze(routes) })
  })
}

const counts = (override: PolicyOverride | false | undefined): boolean =>
  override !== false && override?.limit !== 'unlimited'

/** Windows over one log are left out together: each counts all that is in the log. */
function refusePartOf(
  policy: PolicyRule,
  policies: readonly PolicyRule[],
  overrides: Readonly<Record<string, PolicyOverride | false>>,
  place: string,
): void {
  const together = rulesSharingKeys(policy, policies).map(({ name }) => name)
  if (!together.some((name) => counts(overrides[name]))) return
  const message = `cannot leave out one of ${together.join(', ')}, which count in one log; leave out all`
  throw new ConfigError('invalid_option', place, message)
}

/** Validates what is different about `policy` on one route. */
function overrideOf(place: string, policy: PolicyRule, options: PolicyOverride): Override {
  assertKnownOptions(place, options, ['limit', 'burst'])
  const limit = limitOf(`${place}.limit`, options.limit)
  const burst = limitOf(`${place}.burst`, options.burst)
  if (limit === undefined && burst === undefined) {
    throw new ConfigError('invalid_option', place, 'must have a limit or a burst, or be false')
  }
  if (policy.limit === 'configured') {
    const message = 'cannot be: the limit of the policy is to be configured'
    throw new ConfigError('invalid_option', place, message)
  }
  if (burst !== undefined && policy.burst === undefined) {
    const message = 'has no meaning for a policy that is no bucket'
    throw new ConfigError('invalid_option', `${place}.burst`, message)
  }
  if ((limit as Limit) === 'configured') {
    throw new ConfigError('invalid_option', `${place}.limit`, 'cannot be configured by route')
  }
  const override = {
    place,
    limit: limit === undefined ? undefined : assertLimitOption(`${place}.limit`, limit),
    burst: burst === undefined ? undefined : assertBurst(`${place}.burst`, burst),
  }
  // What depends on no plan is tried now; a limiter tries the rest.
  const isFixed = [override.limit ?? policy.limit, override.burst ?? policy.burst].every(
    (value) => typeof value !== 'function',
  )
  if (isFixed) tryOn(policy, override, { plan: {}, route: undefined, model: undefined })
  return override
}

/** `policy` with other limits on some routes. Its counts stay the same ones. */
function withOverrides(policy: PolicyRule, overrides: ReadonlyMap<string, Override>): PolicyRule {
  if (overrides.size === 0) return policy
  const on = ({ route }: LimitContext): Override | undefined => overrides.get(route ?? '')
  const limit = (context: LimitContext): Units | undefined => {
    // Limiters try a limit without a route at construction: the overrides are to be found sound then.
    if (context.route === undefined) {
      for (const [route, override] of overrides) tryOn(policy, override, { ...context, route })
    }
    return limitIn(on(context)?.limit ?? policy.limit, context)
  }
  const { burst: usual } = policy
  const burst = (context: LimitContext) => resolved(on(context)?.burst ?? usual, context)
  return Object.freeze({ ...policy, limit, burst: usual === undefined ? undefined : burst })
}

/** @throws ConfigError When the override makes no usable limit in this case. */
function tryOn(policy: PolicyRule, { place, limit, burst }: Override, context: LimitContext): void {
  const own = {
    ...policy,
    limit: limit ?? policy.limit,
    burst: burst ?? policy.burst,
  }
  inPlaceOf(`policies.${policy.name}`, place, () => resolveLimits(own, context))
}
