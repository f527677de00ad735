import type { PolicyRule } from '../policies/policy.ts'
import type { ManifestRoute } from './types.ts'
import type { RouteEntry } from './routes.ts'
import type { RuleEntry } from './policies.ts'
import { invalidOption } from '../internal/validation.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { assertPer } from '../subject.ts'
import { parseRouteLimits, withRouteLimits, type RouteLimits } from './limits.ts'

/**
 * Creates the policies that `rpm` stands for: one for all routes with the same `per`.
 *
 * @param others The other policies of the manifest. Where they limit a route for those without a user, say, a policy
 * per user leaves these out. Where nothing does, such a request is an error: it would have no limit.
 */
export function shorthandRules<Context extends unknown[]>(
  entries: readonly RouteEntry<Context>[],
  others: readonly PolicyRule[],
): readonly RuleEntry[] {
  const groups = new Map<string, RpmGroup>()
  for (const { path, options, route } of entries) {
    assertRpm(path, options)
    const { rpm, burst } = options
    if (rpm === undefined) continue
    const per = perWithRoute(`${path}.per`, options.per)
    // Not by the name: "api" and "key" make the same one as "api-key".
    const key = JSON.stringify(per)
    const group = groups.get(key) ?? { path: `${path}.rpm`, per, limits: new Map() }
    const paths = { limit: `${path}.rpm`, burst: `${path}.burst` }
    // In gateways' files 0 and less mean no limit. A plan or a function follows the rules of a limit.
    const limit = Number.isInteger(rpm) && (rpm as number) <= 0 ? 'unlimited' : rpm
    group.limits.set(route.id, parseRouteLimits(paths, limit, burst))
    groups.set(key, group)
  }
  return Array.from(groups.values(), (group) => ({ path: group.path, rule: ruleOf(group, others) }))
}

/** The routes whose `rpm` counts the same subjects. */
interface RpmGroup {
  /** The path of the first of them, for errors. */
  readonly path: string
  readonly per: readonly string[]
  readonly limits: Map<string, RouteLimits>
}

function ruleOf({ per, limits }: RpmGroup, others: readonly PolicyRule[]): PolicyRule {
  const routes = [...limits.keys()]
  const own = per.filter((dimension) => dimension !== 'route')
  const isLimitedWithout = (route: string): boolean =>
    others.some(
      (other) =>
        other.routes?.includes(route) !== false &&
        (other.per === 'global' || !other.per.some((dimension) => own.includes(dimension))),
    )
  const [rule] = tokenBucket({
    name: `rpm-per-${per.join('-')}`,
    limit: 'unlimited',
    window: '1m',
    per,
    routes,
    onMissing: own.length > 0 && routes.every(isLimitedWithout) ? 'skip' : 'error',
  })() as [PolicyRule]
  const scope = own.join('+') || 'route'
  return withRouteLimits(Object.freeze({ ...rule, scope }), limits)
}

type RpmOptions = Pick<ManifestRoute, 'rpm' | 'burst' | 'per'>

function assertRpm(path: string, { rpm, burst, per }: RpmOptions): void {
  if (rpm !== undefined) return
  const unused = burst !== undefined ? 'burst' : per !== undefined ? 'per' : undefined
  if (unused === undefined) return
  throw invalidOption(`${path}.${unused}`, 'must be left out without "rpm"')
}

function perWithRoute(path: string, per: unknown): readonly string[] {
  if (per === undefined) return ['route']
  if (!Array.isArray(per)) {
    throw invalidOption(path, 'must be a list of dimensions, or left out')
  }
  assertPer(path, per)
  return [...new Set([...(per as string[]), 'route'])]
}
