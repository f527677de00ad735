import type { PolicyRule } from '../policies/policy.ts'
import type { RouteEntry } from './routes.ts'
import type { PolicyOverride } from './types.ts'
import { rulesSharingKeys } from '../policies/rules.ts'
import { assertKnownOptions, assertOptions, invalidOption } from '../internal/validation.ts'
import { parseRouteLimits, withRouteLimits, type RouteLimits } from './limits.ts'

type Overrides = Readonly<Record<string, PolicyOverride | false>>

/** Applies the overrides of all routes to the policies of the manifest. */
export function applyOverrides<Context extends unknown[]>(
  rules: readonly PolicyRule[],
  entries: readonly RouteEntry<Context>[],
): readonly PolicyRule[] {
  for (const { path, options, route } of entries) {
    assertOverrides(`${path}.overrides`, options.overrides ?? {}, route.id, rules)
  }
  return rules.map((rule) => overrideRule(rule, entries))
}

/** @throws ConfigError When an override is for no policy of the route, or leaves out a part of a log. */
function assertOverrides(
  path: string,
  overrides: Overrides,
  route: string,
  rules: readonly PolicyRule[],
): void {
  assertOptions(path, overrides)
  for (const [name, override] of Object.entries(overrides)) {
    const rule = rules.find((candidate) => candidate.name === name && !candidate.follows)
    if (rule === undefined || rule.routes?.includes(route) === false) {
      const message = 'must name a policy of the manifest that applies to this route'
      throw invalidOption(`${path}.${name}`, message)
    }
    // Each window over a log counts everything in the log, so they are left out together.
    const windows = rulesSharingKeys(rule, rules).map((each) => each.name)
    if (isCounted(override) || !windows.some((window) => isCounted(overrides[window]))) continue
    const message = `must leave out ${windows.join(', ')} together, because they share one log`
    throw invalidOption(`${path}.${name}`, message)
  }
}

const isCounted = (override: PolicyOverride | false | undefined): boolean =>
  override !== false && override?.limit !== 'unlimited'

/** Applies the overrides of all routes to one policy. */
function overrideRule<Context extends unknown[]>(
  rule: PolicyRule,
  entries: readonly RouteEntry<Context>[],
): PolicyRule {
  const limits = new Map<string, RouteLimits>()
  const excluded = new Set<string>()
  const { name } = rule.follows ?? rule
  for (const { path, options, route } of entries) {
    const override = Object.entries(options.overrides ?? {}).find(([key]) => key === name)
    if (override === undefined) continue
    if (override[1] === false) excluded.add(route.id)
    else limits.set(route.id, parseOverride(`${path}.overrides.${name}`, rule, override[1]))
  }
  const overridden = withRouteLimits(rule, limits)
  if (excluded.size === 0) return overridden
  const ids = rule.routes ?? entries.map(({ route }) => route.id)
  const routes = Object.freeze(ids.filter((id) => !excluded.has(id)))
  return Object.freeze({ ...overridden, routes })
}

/** Validates the override of a policy on one route. */
function parseOverride(path: string, rule: PolicyRule, options: PolicyOverride): RouteLimits {
  assertKnownOptions(path, options, ['limit', 'burst'])
  const paths = { limit: `${path}.limit`, burst: `${path}.burst` }
  const limits = parseRouteLimits(paths, options.limit, options.burst)
  if (limits.limit === undefined && limits.burst === undefined) {
    throw invalidOption(path, 'must have a limit or a burst, or be false')
  }
  if (rule.limit === 'configured') {
    const message = 'must be left out: the limit of this policy is configured at run time'
    throw invalidOption(path, message)
  }
  if (limits.burst !== undefined && rule.burst === undefined) {
    throw invalidOption(paths.burst, 'must be left out: only buckets have it')
  }
  return limits
}
