import type { Policy, PolicyRule } from '../policies/policy.ts'
import { createPolicy } from '../policies/define-policy.ts'
import type { RouteCost, RouteOptions } from '../routes/matcher.ts'
import type { Manifest } from './types.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions } from '../internal/validation.ts'
import { overridden } from './overrides.ts'
import { listOf } from './place.ts'
import { rulesOfSpec } from './policies.ts'
import { entriesOf } from './routes.ts'
import { shorthandOf, shorthandPolicies } from './shorthand.ts'
import { holdCost } from './units.ts'

/** What a manifest makes, for a limiter and its adapters. */
export interface DefinedManifest<Context extends unknown[] = []> {
  /** For the `routes` of every adapter. */
  readonly routes: readonly RouteOptions<Context>[]
  /**
   * For the `policies` of a limiter, in the order in which a denial names them: those for every route,
   * then those of each route, then those that `rpm` is short for.
   */
  readonly policies: readonly Policy[]
  /**
   * The id and the cost of a route, as `withRateLimit` takes them.
   *
   * @throws ConfigError When the manifest has no route with this id.
   */
  route(id: string): { readonly route: string; readonly cost?: RouteCost<Context> }
}

/** A policy, and where it stands. */
interface Placed {
  readonly place: string
  readonly policy: PolicyRule
}

/**
 * Makes routes and policies of one plain object, which may come out of a JSON file. All of it is
 * validated here, but for what depends on plans, which `createLimiter` tries.
 *
 * @throws ConfigError When something is unknown, missing or out of range; `option` is its place, such
 * as `manifest.routes[2].policies[0].window`.
 * @example
 * const manifest = defineManifest({
 *   basePath: '/api',
 *   defaults: { methods: ['POST'] },
 *   policies: [
 *     { algorithm: 'slidingWindow', name: 'rpm', limit: 60, window: '1m', per: ['tenant'] },
 *   ],
 *   routes: [
 *     { path: '/ai/evaluate', id: 'evaluate', cost: 5 },
 *     { path: '/ai/**', id: 'ai', overrides: { rpm: { limit: 600 } } },
 *   ],
 * })
 * const limiter = createLimiter({ store, policies: manifest.policies })
 * const middleware = rateLimit(limiter, { routes: manifest.routes, subject })
 */
export function defineManifest<Context extends unknown[] = []>(
  manifest: Manifest<Context>,
): DefinedManifest<Context> {
  assertKnownOptions('manifest', manifest, ['basePath', 'defaults', 'policies', 'routes'])
  const entries = entriesOf(manifest)
  const ids = new Set(entries.map(({ route }) => route.id))
  const shared = placed('manifest.policies', manifest.policies)
  for (const { place, policy } of shared) {
    if ((policy.routes ?? []).every((id) => ids.has(id))) continue
    const message = 'must list ids of routes of the manifest'
    throw new ConfigError('invalid_option', `${place}.routes`, message)
  }
  const own = entries.flatMap(({ place, options, route }) =>
    placed(`${place}.policies`, options.policies).map((made) => onlyOn(route.id, made)),
  )
  const short = shorthandPolicies(
    entries.flatMap(({ place, options, route }) => shorthandOf(place, route.id, options)),
  )
  distinctNames([...shared, ...own, ...short])
  const rules = [
    ...overridden(
      shared.map(({ policy }) => policy),
      entries,
    ),
    ...[...own, ...short].map(({ policy }) => policy),
  ]
  for (const entry of entries) holdCost(entry, rules)
  const byId = new Map(entries.map(({ route }) => [route.id, route]))
  return Object.freeze({
    routes: Object.freeze(entries.map(({ route }) => route)),
    policies: Object.freeze(rules.length > 0 ? [createPolicy(rules)] : []),
    route(id: string) {
      const found = byId.get(id)
      if (found === undefined) {
        throw new ConfigError(
          'invalid_option',
          'route',
          'must be the id of a route of the manifest',
        )
      }
      return { route: id, ...(found.cost === undefined ? {} : { cost: found.cost }) }
    },
  })
}

function placed(where: string, list: Manifest['policies']): readonly Placed[] {
  return listOf(where, list).flatMap((given, index) => {
    const place = `${where}[${index}]`
    return rulesOfSpec(place, given).map((policy) => ({ place, policy }))
  })
}

function onlyOn(id: string, { place, policy }: Placed): Placed {
  if (policy.routes === undefined) {
    return { place, policy: Object.freeze({ ...policy, routes: Object.freeze([id]) }) }
  }
  const message = 'has no meaning here: the policy applies to this route'
  throw new ConfigError('invalid_option', `${place}.routes`, message)
}

function distinctNames(all: readonly Placed[]): void {
  const names = new Set<string>()
  for (const { place, policy } of all) {
    if (names.has(policy.name)) {
      const message = `"${policy.name}" names another policy of the manifest already`
      throw new ConfigError('duplicate_policy', place, message)
    }
    names.add(policy.name)
  }
}
