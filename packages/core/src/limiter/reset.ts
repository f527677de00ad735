import type { PolicyRule } from '../policies/policy.ts'
import type { LimiterRuntime } from './runtime.ts'
import type { ConfigError } from '../errors.ts'
import { assertKnownOptions, assertOneOf, invalidOption } from '../internal/validation.ts'
import { routeIds } from '../internal/route-ids.ts'
import { rulesSharingKeys } from '../policies/rules.ts'
import { digestLongValues, lacksDimension, type Subject } from '../subject.ts'
import { assertSubject } from './call.ts'
import { keysOf } from './resolve.ts'

/** Options of `reset`. */
export interface ResetOptions {
  /** The policies to reset, by name. @default all except those with per `'global'`, and balances of `credits` */
  readonly policies?: readonly string[]
  /**
   * The ids of the routes to reset, in policies that count by route, for a subject without a route.
   *
   * @default the `routes` of the policy, or else all that the adapters of this process have
   */
  readonly routes?: readonly string[]
}

/** Removes the counts of the subject's partitions. See `Limiter.reset`. */
export async function reset(
  { program, store }: LimiterRuntime,
  subject: Subject,
  options: ResetOptions = {},
): Promise<void> {
  assertSubject(subject)
  const rules = policiesToReset(program.policies, subject, options)
  const keys = new Set<string>()
  for (const compiled of program.compiled) {
    if (!rules.includes(compiled.policy)) continue
    for (const one of onRoutes(subject, compiled.policy, options)) {
      const digests = await digestLongValues(one, program.dimensions)
      for (const key of keysOf(compiled, one, digests)) keys.add(key)
    }
  }
  if (keys.size > 0) await store.reset([...keys])
}

const ROUTE = 'route'

/**
 * Returns the subject; if it names no route and the policy counts by route, the subject on each route that is known.
 *
 * @throws ConfigError When no route is known.
 */
export function onRoutes(
  subject: Subject,
  { name, per, routes }: PolicyRule,
  options: ResetOptions,
): readonly Subject[] {
  if (per === 'global' || !per.includes(ROUTE) || subject.route !== undefined) return [subject]
  const known = Array.from(options.routes ?? routes ?? routeIds, (route) => ({ ...subject, route }))
  if (known.length > 0 && typeof options.routes !== 'string') return known
  throw invalid('routes', `must list the routes to reset: "${name}" counts by route`)
}

/** Selects the policies that a reset applies to. @throws ConfigError When an option is malformed. */
export function policiesToReset(
  policies: readonly PolicyRule[],
  subject: Subject,
  options: ResetOptions,
): readonly PolicyRule[] {
  assertKnownOptions('reset', options, ['policies', 'routes'])
  const { policies: names } = options
  if (names !== undefined) assertPolicyNames(names, policies)
  return policies.filter(
    ({ name, per, onMissing, balance }) =>
      !balance &&
      (names ? names.includes(name) : per !== 'global') &&
      !(onMissing === 'skip' && lacksDimension({ ...subject, route: subject.route ?? ROUTE }, per)),
  )
}

function assertPolicyNames(names: readonly string[], policies: readonly PolicyRule[]): void {
  if (!Array.isArray(names)) throw invalid('policies', 'must be a list of policy names', names)
  for (const given of names as readonly string[]) {
    const name = assertOneOf(
      'reset.policies',
      given,
      policies.map((rule) => rule.name),
    )
    const policy = policies.find((rule) => rule.name === name) as PolicyRule
    policy.balance?.refuseReset()
    const together = rulesSharingKeys(policy, policies).map((rule) => rule.name)
    if (together.every((other) => names.includes(other))) continue
    throw invalid(
      'policies',
      `must name ${together.join(', ')} together, which share a log`,
      names.join(),
    )
  }
}

const invalid = (option: keyof ResetOptions, message: string, ...given: unknown[]): ConfigError =>
  invalidOption(`reset.${option}`, message, ...given)
