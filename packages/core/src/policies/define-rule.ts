import type { AlgorithmConfig, Policy, PolicyOf, PolicyOptions, PolicyRule } from './policy.ts'
import type { Rollout } from './rollout.ts'
import {
  assertCreatedBy,
  assertKnownOptions,
  assertName,
  assertOneOf,
  assertPositiveInteger,
  invalidOption,
  MAX_UNITS,
} from '../internal/validation.ts'
import { assertPer, type Per } from '../subject.ts'
import { assertBurst, assertLimitOption } from './limit.ts'

const OPTIONS = [
  'name',
  'limit',
  'per',
  'unit',
  'scope',
  'routes',
  'onMissing',
  'mode',
  'rollout',
  'backpressure',
  'stripes',
]

/** The most stripes: more would make each small, and a reset slow. */
const MAX_STRIPES = 64

/** Creates a policy of one rule. @throws ConfigError As `defineRule` does. */
export function policyOfRule<
  State,
  Partition extends Per,
  Unit extends string | undefined,
  Name extends string,
>(
  factory: string,
  options: PolicyOptions<Partition, Unit, Name>,
  ownOptions: readonly string[],
  configure: () => AlgorithmConfig<State>,
): PolicyOf<Partition, Unit, Name> {
  return createPolicy([defineRule(factory, options as PolicyOptions, ownOptions, configure)])
}

/** Creates a policy from rules. */
export function createPolicy(rules: readonly PolicyRule[]): Policy<never, never> {
  return () => rules
}

/** Validates the options that every policy has, and creates the rule. @throws ConfigError As `definePolicy` does. */
export function defineRule<State>(
  factory: string,
  options: PolicyOptions,
  ownOptions: readonly string[],
  configure: () => AlgorithmConfig<State>,
): PolicyRule {
  assertKnownOptions(factory, options, [...OPTIONS, ...ownOptions])
  const { unit = 'request', onMissing = 'error', mode = 'enforce', stripes = 1 } = options
  const per = assertPer(`${factory}.per`, options.per)
  const common = {
    name: assertName(`${factory}.name`, options.name),
    limit: assertLimitOption(`${factory}.limit`, options.limit),
    maxUnits: MAX_UNITS,
    per,
    unit: assertName(`${factory}.unit`, unit),
    scope: assertScope(`${factory}.scope`, options.scope, per),
    routes: assertRoutes(`${factory}.routes`, options.routes),
    onMissing: assertOneOf(`${factory}.onMissing`, onMissing, ['error', 'skip']),
    mode: assertOneOf(`${factory}.mode`, mode, ['enforce', 'shadow']),
    rollout: assertRollout(`${factory}.rollout`, options.rollout, per),
    backpressure: assertCreatedBy(
      'backpressure',
      `${factory}.backpressure`,
      options.backpressure,
      'delayMs',
    ),
    stripes: assertPositiveInteger(`${factory}.stripes`, stripes, MAX_STRIPES),
    reason: 'rate_limit_exceeded',
    keyspace: undefined,
  }
  const { burst, ...config } = configure()
  return Object.freeze({
    ...common,
    ...config,
    burst: burst === undefined ? undefined : assertBurst(`${factory}.burst`, burst),
  }) as PolicyRule
}

/**
 * Returns `value` if it is a rollout that fits the policy, else throws. Not in `rollout.ts`, so that a
 * bundle without rollouts does not load that file.
 */
function assertRollout(option: string, value: Rollout | undefined, per: Per): Rollout | undefined {
  assertCreatedBy('rollout', option, value, 'isEnabled')
  if (per !== 'global' || !value?.isPartial) return value
  throw invalidOption(option, 'must be 0 or 100 percent with per "global"')
}

function assertScope(option: string, scope: unknown, per: Per): string {
  if (scope !== undefined) return assertName(option, scope)
  return per === 'global' ? 'global' : per.join('+')
}

function assertRoutes(option: string, routes: unknown): readonly string[] | undefined {
  if (routes === undefined) return undefined
  const ids: unknown[] = Array.isArray(routes) ? routes : []
  if (ids.length > 0 && ids.every((id) => typeof id === 'string' && id !== '')) {
    return Object.freeze([...(ids as string[])])
  }
  throw invalidOption(option, 'must be a list of at least one route id', routes)
}
