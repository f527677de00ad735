import type { Policy, PolicyRule } from '../policies/policy.ts'
import type { RouteCost, RouteOptions } from '../routes/matcher.ts'
import type { Manifest, ManifestParts } from './types.ts'
import { ConfigError } from '../errors.ts'
import { createPolicy } from '../policies/define-rule.ts'
import { assertKnownOptions, invalidOption } from '../internal/validation.ts'
import { assertFixedCost } from './costs.ts'
import { applyOverrides } from './overrides.ts'
import { parsePolicy, type RuleEntry } from './policies.ts'
import { parseRoutes } from './routes.ts'
import { shorthandRules } from './shorthand.ts'

/** The routes and policies of a manifest, for adapters and a limiter. */
export interface DefinedManifest<Context extends unknown[] = []> {
  /** The `routes` of every adapter. */
  readonly routes: readonly RouteOptions<Context>[]
  /**
   * The `policies` of a limiter, in the order in which a denial names them: the limits of one route that count
   * everyone together, the policies for every route, and the other ones of each route.
   */
  readonly policies: readonly Policy[]
  /**
   * Returns the id and the cost of a route, as `withRateLimit` takes them.
   *
   * @throws ConfigError When the manifest has no route with this id.
   */
  route(id: string): { readonly route: string; readonly cost?: RouteCost<Context> }
}

/**
 * Creates routes and policies from one plain object, for example from a JSON file. Everything is validated
 * here, except limits that depend on plans: `createLimiter` tries those.
 *
 * @param parts `{ calendar }` for a manifest with `resets` as plain data.
 * @throws ConfigError When an option is unknown, missing or out of range; `option` is its path, such as
 * `manifest.routes[2].policies[0].window`.
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
  parts: ManifestParts = {},
): DefinedManifest<Context> {
  assertKnownOptions('manifest', manifest, ['basePath', 'defaults', 'policies', 'routes'])
  const entries = parseRoutes(manifest)
  assertKnownOptions('defineManifest', parts, ['calendar'])
  const shared = parseShared(
    manifest.policies,
    parts,
    new Set(entries.map(({ route }) => route.id)),
  )
  const ofRoutes = entries.flatMap(({ path, options, route }) =>
    parsePolicies(`${path}.policies`, options.policies, parts).map((entry) =>
      onlyOn(route.id, entry),
    ),
  )
  const sharedRules = applyOverrides(
    shared.map(({ rule }) => rule),
    entries,
  )
  const ofShorthand = shorthandRules(entries, [...sharedRules, ...ofRoutes.map(({ rule }) => rule)])
  const others = [...ofRoutes, ...ofShorthand]
  assertDistinctNames([...shared, ...others])
  const otherRules = others.map(({ rule }) => rule)
  const rules = [
    ...otherRules.filter(countsEveryone),
    ...sharedRules,
    ...otherRules.filter((rule) => !countsEveryone(rule)),
  ]
  for (const entry of entries) assertFixedCost(entry, rules)
  const byId = new Map(entries.map(({ route }) => [route.id, route]))
  return Object.freeze({
    routes: Object.freeze([...byId.values()]),
    policies: Object.freeze(rules.length > 0 ? [createPolicy(rules)] : []),
    route(id: string) {
      const route = byId.get(id)
      if (route === undefined) {
        throw invalidOption('route', 'must be the id of a route of the manifest')
      }
      return { route: id, ...(route.cost === undefined ? {} : { cost: route.cost }) }
    },
  })
}

/** Returns true if all requests to a route count together, whosever they are. */
const countsEveryone = ({ per }: PolicyRule): boolean =>
  per === 'global' || per.every((dimension) => dimension === 'route')

function parsePolicies(
  path: string,
  policies: Manifest['policies'] = [],
  parts: ManifestParts,
): readonly RuleEntry[] {
  if (!Array.isArray(policies)) throw invalidOption(path, 'must be a list')
  return (policies as NonNullable<Manifest['policies']>).flatMap((policy, index) => {
    const item = `${path}[${index}]`
    return parsePolicy(item, policy, parts).map((rule) => ({ path: item, rule }))
  })
}

/** Parses the policies for every route. The `routes` of a policy must be among `ids`. */
function parseShared(
  policies: Manifest['policies'],
  parts: ManifestParts,
  ids: ReadonlySet<string>,
): readonly RuleEntry[] {
  const entries = parsePolicies('manifest.policies', policies, parts)
  for (const { path, rule } of entries) {
    if ((rule.routes ?? []).every((id) => ids.has(id))) continue
    throw invalidOption(`${path}.routes`, 'must list ids of routes of the manifest')
  }
  return entries
}

function onlyOn(id: string, { path, rule }: RuleEntry): RuleEntry {
  if (rule.routes === undefined) {
    return { path, rule: Object.freeze({ ...rule, routes: Object.freeze([id]) }) }
  }
  throw invalidOption(`${path}.routes`, 'must be left out: the policy applies to this route')
}

function assertDistinctNames(entries: readonly RuleEntry[]): void {
  const names = new Set<string>()
  for (const { path, rule } of entries) {
    if (names.has(rule.name)) {
      const message = `must not have the name "${rule.name}" of another policy of the manifest`
      throw new ConfigError('duplicate_policy', path, message)
    }
    names.add(rule.name)
  }
}
