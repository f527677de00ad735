import type { Burst, Limit, LimitContext, Units } from '../policies/limit.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { PlanLimit } from './types.ts'
import { assertBurst, assertLimitOption, resolveLimits } from '../policies/limit.ts'
import { assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { atPath } from './path.ts'

/** The limits of a policy on one route. */
export interface RouteLimits {
  readonly limit: Limit | undefined
  readonly burst: Burst | undefined
  /** The paths of both options in errors. */
  readonly paths: { readonly limit: string; readonly burst: string }
}

/** Validates the limits of a policy on one route. @throws ConfigError When one is malformed. */
export function parseRouteLimits(
  paths: RouteLimits['paths'],
  limit: Limit | PlanLimit | undefined,
  burst: Burst | PlanLimit | undefined,
): RouteLimits {
  if (limit === 'configured') {
    throw invalidOption(
      paths.limit,
      'must not be "configured": limits of one route cannot be configured',
    )
  }
  const [ownLimit, ownBurst] = [planLimit(paths.limit, limit), planLimit(paths.burst, burst)]
  return {
    limit: ownLimit === undefined ? undefined : assertLimitOption(paths.limit, ownLimit),
    burst: ownBurst === undefined ? undefined : assertBurst(paths.burst, ownBurst),
    paths,
  }
}

/** Converts the name of a plan's limit to a function. Returns any other limit as it is. */
export function planLimit<T>(
  path: string,
  limit: T | PlanLimit,
): T | ((context: LimitContext) => Units | undefined) {
  if (typeof limit !== 'object' || limit === null) return limit
  assertKnownOptions(path, limit, ['plan'])
  const { plan: name } = limit as PlanLimit
  if (typeof name !== 'string' || name === '') {
    throw invalidOption(`${path}.plan`, 'must be the name of a limit that plans have')
  }
  return ({ plan }) => {
    if (Object.hasOwn(plan, name)) return plan[name]
    const message = 'must be the name of a limit that the plans of the limiter have'
    throw invalidOption(`${path}.plan`, message)
  }
}

/**
 * Returns `rule` with other limits on some routes. It counts in the same keys.
 *
 * @throws ConfigError When limits that do not depend on a plan cannot be used.
 */
export function withRouteLimits(
  rule: PolicyRule,
  byRoute: ReadonlyMap<string, RouteLimits>,
): PolicyRule {
  if (byRoute.size === 0) return rule
  for (const [route, limits] of byRoute) {
    const { limit = rule.limit, burst = rule.burst } = limits
    if (typeof limit === 'function' || typeof burst === 'function') continue
    tryLimits(rule, limits, { plan: {}, route, model: undefined })
  }
  const limitsOn = ({ route = '' }: LimitContext): RouteLimits | undefined => byRoute.get(route)
  const limit = (context: LimitContext): Units | undefined => {
    // `createLimiter` tries each limit without a route, so the limits of all routes are tried then.
    if (context.route === undefined) {
      for (const [route, limits] of byRoute) tryLimits(rule, limits, { ...context, route })
    }
    const own = limitsOn(context)?.limit ?? rule.limit
    return valueIn(own as Exclude<Limit, 'configured'>, context)
  }
  const burst = (context: LimitContext) => valueIn(limitsOn(context)?.burst ?? rule.burst, context)
  return Object.freeze({ ...rule, limit, burst: rule.burst === undefined ? undefined : burst })
}

/** @throws ConfigError When the limits on a route cannot be used in this context. */
function tryLimits(
  rule: PolicyRule,
  { limit = rule.limit, burst = rule.burst, paths }: RouteLimits,
  context: LimitContext,
): void {
  const option = `policies.${rule.name}`
  const attempt = () => resolveLimits({ ...rule, limit, burst }, context)
  atPath(`${option}.limit`, paths.limit, () => atPath(`${option}.burst`, paths.burst, attempt))
}

/** Returns `value`, or what it returns in this context if it is a function. */
function valueIn<T>(value: T | ((context: LimitContext) => T | undefined), context: LimitContext) {
  return typeof value === 'function' ? (value as (context: LimitContext) => T)(context) : value
}
