import type { Burst, Limit, LimitContext } from '../policies/limit.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { ManifestRoute } from './types.ts'
import { ConfigError } from '../errors.ts'
import { resolveLimits, assertBurst, assertLimitOption } from '../policies/limit.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { assertPer } from '../subject.ts'
import { inPlaceOf } from './place.ts'
import { limitIn, limitOf, resolved } from './policies.ts'

/** The `rpm` of one route. */
export interface Shorthand {
  readonly place: string
  readonly id: string
  readonly per: readonly string[]
  readonly limit: Limit
  readonly burst: Burst | undefined
}

/** The `rpm` of a route, if it has one. */
export function shorthandOf(
  place: string,
  id: string,
  { rpm, burst, per }: Pick<ManifestRoute, 'rpm' | 'burst' | 'per'>,
): readonly Shorthand[] {
  if (rpm === undefined) {
    const lonely = Object.entries({ burst, per }).find(([, value]) => value !== undefined)
    if (lonely === undefined) return []
    throw new ConfigError('invalid_option', `${place}.${lonely[0]}`, 'has no meaning without "rpm"')
  }
  if ((rpm as Limit) === 'configured') {
    throw new ConfigError('invalid_option', `${place}.rpm`, 'cannot be configured; use a policy')
  }
  const whose = per === undefined ? [] : Array.isArray(per) && assertPer(`${place}.per`, per)
  if (whose === false || whose === 'global') {
    const message = 'must be a list of dimensions; leave it out for all'
    throw new ConfigError('invalid_option', `${place}.per`, message)
  }
  const own = {
    place,
    id,
    per: [...new Set([...whose, 'route'])],
    limit: assertLimitOption(
      `${place}.rpm`,
      isNone(rpm) ? 'unlimited' : limitOf(`${place}.rpm`, rpm),
    ),
    burst:
      burst === undefined
        ? undefined
        : assertBurst(`${place}.burst`, limitOf(`${place}.burst`, burst)),
  }
  return [own]
}

/** In gateways' files 0 and less mean no limit. What a plan or a function says means what it does elsewhere. */
const isNone = (rpm: unknown): boolean => Number.isInteger(rpm) && (rpm as number) <= 0

/** One policy for all routes that count the same subjects: its limit depends on the route. */
export function shorthandPolicies(
  all: readonly Shorthand[],
): readonly { readonly place: string; readonly policy: PolicyRule }[] {
  const groups = new Map<string, Shorthand[]>()
  for (const own of all) {
    // Not by the name: "api" and "key" make the same one as "api-key".
    const whose = JSON.stringify(own.per)
    groups.set(whose, [...(groups.get(whose) ?? []), own])
  }
  return Array.from(groups.values(), (group) => ({
    place: `${group[0]?.place}.rpm`,
    policy: ruleOf(group),
  }))
}

function ruleOf(group: readonly Shorthand[]): PolicyRule {
  const per = group[0]?.per ?? []
  const name = `rpm-per-${per.join('-')}`
  const byRoute = new Map(group.map((own) => [own.id, own]))
  const limitOn = ({ route = '' }: LimitContext): Limit => byRoute.get(route)?.limit ?? 'unlimited'
  const burstOn = ({ route = '' }: LimitContext): Burst => byRoute.get(route)?.burst ?? 'limit'
  const [rule] = tokenBucket({
    name,
    limit: (context) => limitIn(limitOn(context), context),
    burst: (context) => resolved(burstOn(context), context),
    window: '1m',
    per,
    routes: [...byRoute.keys()],
  })() as [PolicyRule]
  for (const { place, id, limit, burst } of group) {
    // What depends on a plan is tried by the limiter.
    if (typeof limit === 'function' || typeof burst === 'function') continue
    const attempt = () => resolveLimits(rule, { plan: {}, route: id, model: undefined })
    const option = `policies.${name}`
    inPlaceOf(option, place, () => inPlaceOf(`${option}.limit`, `${place}.rpm`, attempt))
  }
  return rule
}
