import type { Algorithm } from './algorithm.ts'
import type { Backpressure } from './backpressure.ts'
import type { PolicyReason } from './decision.ts'
import type { Burst, Limit } from './limit.ts'
import type { Rollout, RolloutOptions } from './rollout.ts'
import type { Per } from './subject.ts'
import { validBackpressure } from './backpressure.ts'
import { ConfigError } from './errors.ts'
import { validBurst, validLimit } from './limit.ts'
import { rolloutOf } from './rollout.ts'
import { validPer } from './subject.ts'
import { knownOptions, MAX_UNITS, oneOf, plainName, positiveInteger } from './validate.ts'

/** Options that every policy has. */
export interface PolicyOptions extends RolloutOptions {
  /** Unique in its limiter; stands in keys, headers and denials. Letters, digits, `_`, `.`, `-`. */
  readonly name: string
  /** Units allowed per window. 0 and less mean no limit. */
  readonly limit: Limit
  /** Whose budget is counted: one for each combination of these dimensions, or `'global'`. */
  readonly per: Per
  /** What is counted. @default 'request' */
  readonly unit?: string
  /** How a denial names whose budget is spent (`X-RateLimit-Scope`). @default the dimensions of `per` joined by `+` */
  readonly scope?: string
  /** The ids of the routes that it applies to; no other request is counted. @default all */
  readonly routes?: readonly string[]
  /**
   * What to do with a subject that lacks one of the dimensions of `per`: throw an `InputError`, or
   * leave this policy out, such as one per user for requests without a user. @default 'error'
   */
  readonly onMissing?: 'error' | 'skip'
  /** A delay that grows from a share of the limit on (`delayMs`). @default none */
  readonly backpressure?: Backpressure
  /**
   * Parts that the limit is split into, each with a key of its own, so that a key that everyone counts
   * in is not locked by every request. A request is counted in one of them, at random: the limit is
   * never exceeded, but a part may be spent a little before the others. At most 64. @default 1
   */
  readonly shards?: number
}

/** A named rule, made by a factory such as `slidingWindow`. */
export interface Policy {
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
  readonly rollout: Rollout
  readonly backpressure: Required<Backpressure> | undefined
  readonly shards: number
  /** Why a request that this policy does not fit is denied. */
  readonly reason: PolicyReason
  /** The window in milliseconds; of a calendar month, 31 days. */
  readonly windowMs: number
  readonly algorithm: Algorithm
  readonly params: readonly number[]
  /** Names its keys in place of `name` and `params`; one object for policies that count in the same ones. */
  readonly log: { readonly name: string; readonly params: readonly number[] } | undefined
}

/** What a policy factory adds to the options that every policy has. */
interface Counting<State> {
  readonly algorithm: Algorithm<State>
  readonly params: readonly number[]
  readonly windowMs: number
  readonly reason: PolicyReason
  readonly burst?: Burst
  readonly maxUnits?: number
  readonly log?: Policy['log']
}

const OPTIONS = [
  'name',
  'limit',
  'per',
  'unit',
  'scope',
  'routes',
  'onMissing',
  'backpressure',
  'shards',
  'mode',
  'enabled',
  'enforced',
]

/** More would make a limit's parts small and its reset long. */
const MAX_SHARDS = 64

/** Validates the options that every policy has, and makes the policy. */
export function definePolicy<State>(
  where: string,
  options: PolicyOptions,
  ownOptions: readonly string[],
  counting: () => Counting<State>,
): Policy {
  knownOptions(where, options, [...OPTIONS, ...ownOptions])
  const { backpressure, shards = 1, routes } = options
  const name = plainName(`${where}.name`, options.name)
  const limit = validLimit(`${where}.limit`, options.limit)
  const per = validPer(`${where}.per`, options.per)
  const own = counting()
  return Object.freeze({
    name,
    limit,
    maxUnits: MAX_UNITS,
    per,
    unit: plainName(`${where}.unit`, options.unit ?? 'request'),
    scope: scopeOf(where, options.scope, per),
    routes: routes === undefined ? undefined : validRoutes(`${where}.routes`, routes),
    onMissing: oneOf(`${where}.onMissing`, options.onMissing ?? 'error', ['error', 'skip']),
    rollout: rolloutOf(where, options, per === 'global'),
    backpressure: backpressure && validBackpressure(`${where}.backpressure`, backpressure),
    shards: positiveInteger(`${where}.shards`, shards, MAX_SHARDS),
    log: undefined,
    ...own,
    burst: own.burst === undefined ? undefined : validBurst(`${where}.burst`, own.burst),
  }) as Policy
}

function scopeOf(where: string, scope: unknown, per: Per): string {
  if (scope !== undefined) return plainName(`${where}.scope`, scope)
  return per === 'global' ? 'global' : per.join('+')
}

function validRoutes(option: string, routes: unknown): readonly string[] {
  const ids: unknown[] = Array.isArray(routes) ? routes : []
  if (ids.length > 0 && ids.every((id) => typeof id === 'string' && id !== '')) {
    return Object.freeze([...(ids as string[])])
  }
  throw new ConfigError('invalid_option', option, 'must be a list of at least one route id')
}

/** Throws unless `policies` is a non-empty list of policies with distinct names. */
export function validPolicies(policies: unknown): readonly Policy[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw new ConfigError('invalid_option', 'policies', 'must be a list of at least one policy')
  }
  const names = new Set<string>()
  const logs = new Map<string, Policy['log']>()
  for (const policy of policies as Partial<Policy>[]) {
    const isPolicy =
      typeof policy?.algorithm?.check === 'function' &&
      policy.name !== undefined &&
      policy.rollout !== undefined &&
      policy.params?.every((number) => Number.isInteger(number) && number >= 0)
    if (!isPolicy) {
      throw new ConfigError(
        'invalid_option',
        'policies',
        'must hold only policies made by a factory, such as slidingWindow or dailyCap',
      )
    }
    // They stand in headers; a policy that was copied and renamed has not been through its factory.
    for (const text of [policy.name, policy.scope, policy.unit]) {
      if (typeof text === 'string' && /^[\x21-\x7e]+$/.test(text)) continue
      throw new ConfigError(
        'invalid_option',
        'policies',
        'must have names, scopes and units of printable ASCII without spaces',
      )
    }
    if (names.has(policy.name)) {
      throw new ConfigError('duplicate_policy', 'policies', `names "${policy.name}" twice`)
    }
    names.add(plainName('policies.name', policy.name))
    const key = keyPrefix(policy as Policy)
    if (logs.has(key) && logs.get(key) !== policy.log) {
      const message = `has windows of two policies that are both named "${policy.log?.name}"`
      throw new ConfigError('duplicate_policy', 'policies', message)
    }
    logs.set(key, policy.log)
    validPer(`policies.${policy.name}.per`, policy.per)
  }
  return [...(policies as Policy[])]
}

/** Those of `policies` that count in the same log, with `policy` among them. */
export const sharingLog = ({ name, log }: Policy, policies: readonly Policy[]): readonly Policy[] =>
  policies.filter((other) => other.name === name || (log !== undefined && other.log === log))

/** What names a policy's partition in a store, before the partition's own values. */
export function keyPrefix({ name, params, log = { name, params }, algorithm }: Policy): string {
  // The algorithm and its numbers are part of the key: a policy that is changed starts afresh
  // instead of misreading what its former self wrote.
  return `${log.name}:${algorithm.id}-${log.params.join('-')}`
}
