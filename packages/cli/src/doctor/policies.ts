/* Names that a limiter's policies do not have: in stored settings, in plans, and in their own `routes`. */
import {
  definitionOf,
  type Limiter,
  type LimitContext,
  type Plans,
  type PolicyRule,
} from '@sluice/core'
import { configurationSize, unknownPolicies } from '@sluice/core/configuration'
import { adapterCalls } from '../source/adapters.ts'
import { propertyOf, textsIn } from '../source/literal.ts'
import { nodes, nodesIn, textIn, type Node, type SourceModule } from '../source/module.ts'
import { modulesWith, type ProjectSource } from '../source/project-source.ts'
import { findingsAmong, type Finding } from './finding.ts'

export const judgePolicies = async (
  limiter: Limiter,
  source: ProjectSource,
): Promise<Finding[]> => [
  ...(await judgeSettings(limiter)),
  ...findingsAmong([judgePlans(limiter, source)]),
  ...judgeRouteIds(definitionOf(limiter).rules, source),
]

async function judgeSettings(limiter: Limiter): Promise<Finding[]> {
  const size = await unlessAbsent(() => configurationSize(limiter))
  const names = await storedNames(limiter)
  return findingsAmong<Finding>([
    size?.isAlmostFull && {
      code: 'configuration_almost_full',
      text: `the stored settings are ${Math.floor(size.share * 100)} % full: soon no more tenants can have their own`,
      remedy:
        'add partitionRecords() to runtimeConfiguration: a record for each tenant, and any number',
    },
    names.length > 0 && {
      code: 'unknown_policy',
      text: `stored settings name policies that the limiter does not have: ${names.join(', ')}`,
      remedy:
        'set them for the policy that has the new name, and remove the old ones: docs/configuration.md#in-redis. If another limiter has these policies, give each a name of its own: runtimeConfiguration({ name })',
    },
  ])
}

/** Returns the names of policies in settings that the limiter does not have. */
export const storedNames = async (limiter: Limiter): Promise<readonly string[]> =>
  (await unlessAbsent(() => unknownPolicies(limiter))) ?? []

/** Reads settings. Returns `undefined` if the limiter has none, or its store does not answer. */
async function unlessAbsent<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    // Without runtimeConfiguration; other checks have found a fault of the store.
    const { name } = error as Error
    if (name === 'ConfigError' || name === 'StoreError') return undefined
    throw error
  }
}

function judgePlans(limiter: Limiter, source: ProjectSource): Finding | undefined {
  const { plans, rules } = definitionOf(limiter)
  if (!plans) return undefined
  const limits = Object.keys(plans.get(plans.defaultPlan) ?? {})
  const read = namesRead(rules, plans)
  const texts = [...source.texts.values()]
  // A key that is computed may be any of them.
  if (texts.length === 0 || texts.some((text) => /\bplan\??\.?\[/.test(text))) return undefined
  const unread = limits.filter((name) => !read.has(name) && !texts.some(mentions(name)))
  if (unread.length === 0) return undefined
  return {
    code: 'unknown_policy',
    text: `plans have limits that no policy reads: ${unread.join(', ')}`,
    remedy: `read them in a policy, limit: ({ plan }) => plan.${unread[0]}, or remove them from the plans`,
  }
}

/** Returns the limits of plans that policies read for any of their routes. */
function namesRead(rules: readonly PolicyRule[], plans: Plans): ReadonlySet<string> {
  const read = new Set<string>()
  for (const planName of plans.names) {
    const plan: LimitContext['plan'] = new Proxy(plans.get(planName) ?? {}, {
      get(limits, name: string) {
        read.add(name)
        return limits[name]
      },
    })
    for (const { limit, burst, routes = [undefined] } of rules) {
      for (const option of [limit, burst]) {
        if (typeof option !== 'function') continue
        for (const route of routes) option({ plan, route, model: undefined })
      }
    }
  }
  return read
}

/** Returns a function that finds where a text reads a limit: `plan.rpm`, `{ rpm }`, `plan: 'rpm'`, `['rpm']`. */
function mentions(name: string): (text: string) => boolean {
  const quoted = name.replace(/[^\w]/g, '\\$&')
  const read = new RegExp(
    `\\.\\s*${quoted}\\b|[{,]\\s*${quoted}\\s*[,}=]|(?:plan:|\\[)\\s*['"]${quoted}['"]`,
  )
  return (text) => read.test(text)
}

/** Finds ids in the `routes` of policies that no adapter has. Nothing if an adapter's routes are not written out. */
function judgeRouteIds(rules: readonly PolicyRule[], source: ProjectSource): Finding[] {
  const calls = adapterCalls(source)
  const ids = new Set<string>()
  for (const { routes } of calls) {
    if (typeof routes === 'string') return []
    for (const { path, id = path } of routes) ids.add(id)
  }
  if (ids.size === 0) return []
  // An id may also be charged elsewhere, such as in a queue.
  const charged = idsElsewhere(source)
  return rules.flatMap(({ name, routes = [] }): Finding | [] => {
    const unknown = routes.filter((id) => !ids.has(id) && !charged.has(id))
    if (unknown.length === 0) return []
    return {
      code: 'unknown_policy',
      text: `policy ${name} is for routes that no adapter has: ${unknown.join(', ')}. It limits nobody there`,
      remedy: `name ids of the adapter's routes: ${[...ids].join(', ')}`,
    }
  })
}

/** Returns all texts of the project but those in the `routes` of policies. */
function idsElsewhere(source: ProjectSource): ReadonlySet<string> {
  const texts = new Set<string>()
  for (const module of modulesWith(source, () => true)) {
    const ofPolicies = routesOfPolicies(module)
    for (const node of nodesIn(module.program)) {
      const text = textIn(node)
      if (text !== undefined && !ofPolicies.has(node)) texts.add(text)
    }
  }
  return texts
}

function routesOfPolicies(module: SourceModule): ReadonlySet<Node> {
  const found = new Set<Node>()
  for (const node of nodesIn(module.program)) {
    const { node: list } = propertyOf(node, 'routes')
    if (!list || textsIn(list).length === 0) continue
    // Policies have names; the options of an adapter have none.
    if (!propertyOf(node, 'name').node) continue
    for (const element of nodes(list['elements'])) found.add(element)
  }
  return found
}
