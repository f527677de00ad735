import type { Per } from './subject.ts'
import type { PlanLimits } from './plans.ts'
import type { PolicyReason } from './decision.ts'
import { ConfigError } from './errors.ts'
import { validPer } from './subject.ts'
import { knownOptions, plainName, positiveInteger } from './validate.ts'

/** What a limit may depend on. */
export interface LimitContext {
  /** The limits of the subject's plan. Empty when the limiter has no plans. */
  readonly plan: PlanLimits
}

/**
 * The units a policy allows per window: a whole number from 1 to 10^12, or a function of the plan.
 * A function is tried against every plan at construction, so a misspelt limit is found there.
 */
export type Limit = number | ((context: LimitContext) => number | undefined)

/** Options that every policy has. */
export interface PolicyOptions {
  /** Unique in its limiter; stands in keys, headers and denials. Letters, digits, `_`, `.`, `-`. */
  readonly name: string
  /** Units allowed per window. */
  readonly limit: Limit
  /** Whose budget is counted: one for each combination of these dimensions, or `'global'`. */
  readonly per: Per
  /** What is counted. @default 'request' */
  readonly unit?: string
  /** How a denial names whose budget is spent (`X-RateLimit-Scope`). @default the dimensions of `per` joined by `+` */
  readonly scope?: string
}

/** One policy's part in a store call: a key, and numbers for the algorithm. */
export interface Entry {
  readonly key: string
  readonly algorithm: Algorithm
  /** Units allowed. */
  readonly limit: number
  /** Units asked for; 0 reads without asking for any. */
  readonly cost: number
  /** The algorithm's own numbers, such as the window in milliseconds. */
  readonly params: readonly number[]
}

/** What an algorithm finds for one entry, before anything is added. */
export interface Verdict {
  readonly fits: boolean
  /** Units free now, before this cost. */
  readonly available: number
  /** Milliseconds until units that are (or by this cost would be) in use come back. */
  readonly resetMs: number
  /** Milliseconds until this cost fits if nobody else spends: 0 now, -1 never. */
  readonly retryMs: number
}

/**
 * How a policy counts, as two twins that must agree: TypeScript for the memory store, Lua for Redis.
 * `check` only reads; `add` is called only after every policy of the decision has fitted.
 */
export interface Algorithm<State = never> {
  /** Names the Lua twin and the key. */
  readonly id: string
  /**
   * A Lua table with `check(key, now, limit, cost, params)`, which returns
   * `{ fits, available, reset, retry }` with whatever `add` needs besides, and
   * `add(key, now, limit, cost, params, id, verdict, own, slack)`, where `own` tells that `now` is
   * Redis' own, and keys are to live `slack` milliseconds longer than they need to by `now`.
   */
  readonly lua: string
  check(state: State | undefined, entry: Entry, now: number): Verdict
  /** Returns the new state, and when (epoch ms) it is as good as none. */
  add(state: State | undefined, entry: Entry, now: number): { state: State; expiresAt: number }
}

/** A named rule, made by `slidingWindow`, `fixedWindow`, `dailyCap` or `monthlyCap`. */
export interface Policy {
  readonly name: string
  readonly limit: Limit
  readonly per: Per
  readonly unit: string
  readonly scope: string
  /** Why a request that this policy does not fit is denied. */
  readonly reason: PolicyReason
  /** The window in milliseconds; of a calendar month, 31 days. */
  readonly windowMs: number
  readonly algorithm: Algorithm
  readonly params: readonly number[]
}

/** What a policy factory adds to the options that every policy has. */
interface Counting<State> {
  readonly algorithm: Algorithm<State>
  readonly params: readonly number[]
  readonly windowMs: number
  readonly reason: PolicyReason
}

/** Validates the options that every policy has, and makes the policy. */
export function definePolicy<State>(
  where: string,
  options: PolicyOptions,
  ownOptions: readonly string[],
  counting: () => Counting<State>,
): Policy {
  knownOptions(where, options, ['name', 'limit', 'per', 'unit', 'scope', ...ownOptions])
  const { limit } = options
  const per = validPer(`${where}.per`, options.per)
  return Object.freeze({
    name: plainName(`${where}.name`, options.name),
    limit: typeof limit === 'function' ? limit : positiveInteger(`${where}.limit`, limit),
    per,
    unit: plainName(`${where}.unit`, options.unit ?? 'request'),
    scope:
      options.scope === undefined
        ? per === 'global'
          ? 'global'
          : per.join('+')
        : plainName(`${where}.scope`, options.scope),
    ...counting(),
  }) as Policy
}

/** The units that `policy` allows under `plan`. Throws if its limit is no usable number. */
export function resolveLimit(policy: Policy, plan: PlanLimits, planName?: string): number {
  const limit = typeof policy.limit === 'function' ? policy.limit({ plan }) : policy.limit
  const option = `policies.${policy.name}.limit${planName === undefined ? '' : ` for plan "${planName}"`}`
  return positiveInteger(option, limit)
}

/** Throws unless `policies` is a non-empty list of policies with distinct names. */
export function validPolicies(policies: unknown): readonly Policy[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw new ConfigError('invalid_option', 'policies', 'must be a list of at least one policy')
  }
  const names = new Set<string>()
  for (const policy of policies as Partial<Policy>[]) {
    const isPolicy =
      typeof policy?.algorithm?.check === 'function' &&
      policy.name !== undefined &&
      policy.params?.every((number) => Number.isInteger(number) && number >= 0)
    if (!isPolicy) {
      throw new ConfigError(
        'invalid_option',
        'policies',
        'must hold only policies made by slidingWindow, fixedWindow, dailyCap or monthlyCap',
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
    validPer(`policies.${policy.name}.per`, policy.per)
  }
  return [...(policies as Policy[])]
}

/** What names a policy's partition in a store, before the partition's own values. */
export function keyPrefix(policy: Policy): string {
  // The algorithm and its numbers are part of the key: a policy that is changed starts afresh
  // instead of misreading what its former self wrote.
  return `${policy.name}:${policy.algorithm.id}-${policy.params.join('-')}`
}
