import type { Algorithm } from '../algorithms/algorithm.ts'
import type { PolicyReason } from '../decision.ts'
import type { DimensionOf, Per } from '../subject.ts'
import type { Backpressure } from './backpressure.ts'
import type { AnyLimitName, Burst, Limit } from './limit.ts'
import type { Mode, Rollout } from './rollout.ts'
import { ConfigError } from '../errors.ts'
import { assertPer } from '../subject.ts'
import {
  assertKnownOptions,
  MAX_UNITS,
  assertOneOf,
  assertName,
  assertPositiveInteger,
} from '../internal/validation.ts'
import { assertBurst, assertLimitOption } from './limit.ts'

/** Options that every policy has. */
export interface PolicyOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> {
  /** Unique in its limiter; stands in keys, headers and denials. Letters, digits, `_`, `.`, `-`. */
  readonly name: string
  /** Units allowed per window: 0 allows nothing, `'unlimited'` is not counted. */
  readonly limit: Limit<Name>
  /** Whose budget is counted: one for each combination of these dimensions, or `'global'`. */
  readonly per: Partition
  /** The unit that is counted. @default 'request' */
  readonly unit?: Unit
  /** How a denial names whose budget is spent (`X-RateLimit-Scope`). @default the dimensions of `per` joined by `+` */
  readonly scope?: string
  /** The ids of the routes that it applies to; no other request is counted. @default all */
  readonly routes?: readonly string[]
  /**
   * What to do with a subject that lacks one of the dimensions of `per`: throw an `InputError`, or
   * leave this policy out, such as one per user for requests without a user. @default 'error'
   */
  readonly onMissing?: 'error' | 'skip'
  /**
   * `'shadow'` counts as if it were enforced and never denies: what it would have denied is told by
   * `fits: false` in the decision and by the event `shadow`. @default 'enforce'
   */
  readonly mode?: Mode
  /** Counts or enforces it for some partitions only, made by `rollout`. @default all */
  readonly rollout?: Rollout
  /** A delay that grows as the limit is used up (`delayMs`), made by `backpressure`. @default none */
  readonly backpressure?: Backpressure
  /**
   * Parts that the limit is split into, each with a key of its own, so that a key that everyone counts
   * in is not locked by every request. A request is counted in one of them, at random: the limit is
   * never exceeded, but a part may be spent a little before the others. At most 64. @default 1
   */
  readonly stripes?: number
}

/** Names keys in place of a policy's name and numbers; one object for policies that count in one key. */
export interface Keyspace {
  readonly name: string
  readonly params: readonly number[]
}

/**
 * A named rule, made by a factory such as `slidingWindow`, or several that count in one place.
 * `createLimiter` calls it once.
 *
 * It is a function because TypeScript infers calls that return functions last: only so does it know
 * the limits of `plans` where it checks `({ plan }) => plan.rpm` in the same object.
 */
export interface Policy<
  out Dimension extends string = string,
  out Unit extends string = string,
  out Name extends string = AnyLimitName,
> {
  (): readonly PolicyRule[]
  /** For the compiler alone; never set. */
  readonly '~types'?:
    { readonly dimension: Dimension; readonly unit: Unit; readonly limit: Name } | undefined
}

/** The policy that a factory makes of options with these types. */
export type PolicyOf<
  Partition extends Per,
  Unit extends string | undefined,
  Name extends string,
  // Not a default of `Unit`: with one, TypeScript reports a misspelt option at `unit`.
> = Policy<DimensionOf<Partition>, undefined extends Unit ? 'request' : Unit & string, Name>

/** One rule of a policy: plain data, as the limiter and its stores use it. */
export interface PolicyRule {
  readonly name: string
  readonly limit: Limit
  /** `undefined` of what is no bucket. */
  readonly burst: Burst | undefined
  /** The most units that the algorithm can count, given its window. */
  readonly maxUnits: number
  readonly per: Per
  readonly unit: string
  readonly scope: string
  readonly routes: readonly string[] | undefined
  readonly onMissing: 'error' | 'skip'
  readonly mode: Mode
  readonly rollout: Rollout | undefined
  readonly backpressure: Backpressure | undefined
  readonly stripes: number
  /** Why a request that this policy does not fit is denied. */
  readonly reason: PolicyReason
  /** The window in milliseconds; of a calendar month, 31 days. */
  readonly windowMs: number
  readonly algorithm: Algorithm
  readonly params: readonly number[]
  readonly keyspace: Keyspace | undefined
}

/** The part of a policy that its factory decides. */
export interface AlgorithmConfig<State> {
  readonly algorithm: Algorithm<State>
  /** The algorithm's numbers. They stand in keys: a policy that changes them starts afresh. */
  readonly params: readonly number[]
  /** The window in milliseconds. */
  readonly windowMs: number
  /** @default 'rate_limit_exceeded' */
  readonly reason?: PolicyReason
  /** The burst, if it is a bucket. */
  readonly burst?: Burst
  /** The most units that it counts exactly. @default 10^12 */
  readonly maxUnits?: number
  /** @default the policy's own name and params */
  readonly keyspace?: Keyspace
}

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

/** More would make a limit's parts small and its reset long. */
const MAX_STRIPES = 64

/**
 * Makes a policy of options and an algorithm: what every factory returns, yours too.
 *
 * @param factory The factory's name, with which errors begin.
 * @param ownOptions The names of the options that only this factory has.
 * @param configure Reads these, and says how to count.
 * @throws ConfigError When an option that every policy has is unknown, missing or out of range.
 * @example
 * const gcra = (options: GcraOptions) =>
 *   definePolicy('gcra', options, ['window'], () => ({ algorithm, params: [60_000], windowMs: 60_000 }))
 */
export function definePolicy<
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

/** The policy of these rules. */
export function createPolicy(rules: readonly PolicyRule[]): Policy<never, never> {
  return () => rules
}

/** Validates the options that every policy has, and makes the rule. @throws ConfigError As `definePolicy` does. */
export function defineRule<State>(
  factory: string,
  options: PolicyOptions,
  ownOptions: readonly string[],
  configure: () => AlgorithmConfig<State>,
): PolicyRule {
  assertKnownOptions(factory, options, [...OPTIONS, ...ownOptions])
  const { backpressure, stripes = 1, routes } = options
  const name = assertName(`${factory}.name`, options.name)
  const limit = assertLimitOption(`${factory}.limit`, options.limit)
  const per = assertPer(`${factory}.per`, options.per)
  const { burst, ...own } = configure()
  if (backpressure !== undefined && typeof backpressure?.delayMs !== 'function') {
    throw new ConfigError(
      'invalid_option',
      `${factory}.backpressure`,
      'must be made by backpressure',
    )
  }
  return Object.freeze({
    name,
    limit,
    maxUnits: MAX_UNITS,
    per,
    unit: assertName(`${factory}.unit`, options.unit ?? 'request'),
    scope: scopeOf(factory, options.scope, per),
    routes: routes === undefined ? undefined : assertRoutes(`${factory}.routes`, routes),
    onMissing: assertOneOf(`${factory}.onMissing`, options.onMissing ?? 'error', ['error', 'skip']),
    mode: assertOneOf(`${factory}.mode`, options.mode ?? 'enforce', ['enforce', 'shadow']),
    rollout: assertRollout(`${factory}.rollout`, options.rollout, per === 'global'),
    backpressure,
    stripes: assertPositiveInteger(`${factory}.stripes`, stripes, MAX_STRIPES),
    reason: 'rate_limit_exceeded',
    keyspace: undefined,
    ...own,
    burst: burst === undefined ? undefined : assertBurst(`${factory}.burst`, burst),
  }) as PolicyRule
}

// Here, so that whoever makes no rollout loads none.
/** Returns `value` if it is a rollout that fits the policy, else throws. */
function assertRollout(
  option: string,
  value: Rollout | undefined,
  isGlobal: boolean,
): Rollout | undefined {
  if (value === undefined) return undefined
  if (typeof value?.isEnabled !== 'function') {
    throw new ConfigError('invalid_option', option, 'must be made by rollout')
  }
  if (!isGlobal || !value.isPartial) return value
  const message = 'must use 0 or 100 percent with per "global", which has one partition'
  throw new ConfigError('invalid_option', option, message)
}

function scopeOf(factory: string, scope: unknown, per: Per): string {
  if (scope !== undefined) return assertName(`${factory}.scope`, scope)
  return per === 'global' ? 'global' : per.join('+')
}

function assertRoutes(option: string, routes: unknown): readonly string[] {
  const ids: unknown[] = Array.isArray(routes) ? routes : []
  if (ids.length > 0 && ids.every((id) => typeof id === 'string' && id !== '')) {
    return Object.freeze([...(ids as string[])])
  }
  throw new ConfigError('invalid_option', option, 'must be a list of at least one route id')
}
