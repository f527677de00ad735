import type { AnyLimitName } from '../policies/limit.ts'
import type { Entry } from '../stores/store.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import { settlementIn } from '../algorithms/algorithm.ts'
import { fixedWindowSettlement } from '../algorithms/fixed-window.ts'
import { slidingLogSettlement } from '../algorithms/sliding-log.ts'
import type { ConfigError } from '../errors.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { assertKnownOptions, assertPositiveInteger, invalidOption } from '../internal/validation.ts'
import { createPolicy } from '../policies/define-rule.ts'

/** Options of `lease`. */
export interface LeaseOptions {
  /**
   * The time for which a process may serve units that it has taken. At most the policy's window.
   * @default '1s'
   */
  readonly duration?: Duration
  /**
   * The most decisions that one block is taken for, beside those that wait for it. Blocks grow up to it with the
   * traffic. @default 100
   */
  readonly most?: number
}

/** The terms on which the units of a rule are leased. */
export interface LeaseTerms {
  readonly durationMs: number
  readonly most: number
  /** True if its windows lie on a grid. A lease then ends with its window. */
  readonly isAligned: boolean
  /** The rule as the store counts it. */
  readonly counted: PolicyRule
}

/** A rule whose units are leased. */
export interface LeasedRule extends PolicyRule {
  readonly lease: LeaseTerms
}

/** Returns the terms of a rule, or `undefined` if it is not leased. */
export const termsOf = (rule: PolicyRule): LeaseTerms | undefined =>
  (rule as Partial<LeasedRule>).lease

/** The rules as stores count them, by the limiter's own. */
const countedBy = new WeakMap<readonly PolicyRule[], readonly PolicyRule[]>()

/** Returns a limiter's rules as stores count them. */
export function countedRules(policies: readonly PolicyRule[]): readonly PolicyRule[] {
  const known = countedBy.get(policies)
  if (known) return known
  const rules = Object.freeze(policies.map((rule) => termsOf(rule)?.counted ?? rule))
  countedBy.set(policies, rules)
  return rules
}

/** Returns true if an entry may be served by a lease. A shadow is not. */
export const isLeased = ({ policy, enforced }: Entry): boolean =>
  enforced && termsOf(policy) !== undefined

/**
 * Lets each process take a block of a policy's units in one call to the store, and serve them from its memory
 * for a short time. The limiter's store must be `leased(…)`.
 *
 * No window ever exceeds the limit. A `slidingWindow` counts each unit for `duration` longer than its
 * window, so that at most `duration / (window + duration)` of the limit stays unused.
 *
 * @param policy A `slidingWindow`, `fixedWindow`, `dailyCap` or `monthlyCap`, without `stripes`.
 * @throws ConfigError When the policy cannot be leased, or an option is unknown or out of range.
 * @example
 * const everyone = slidingWindow({ name: 'everyone', limit: 100_000, window: '1m', per: 'global' })
 * createLimiter({ store: leased(upstash()), policies: [lease(everyone, { duration: '2s' })] })
 */
export function lease<
  Dimension extends string,
  Unit extends string,
  Name extends string = AnyLimitName,
>(
  policy: Policy<Dimension, Unit, Name>,
  options: LeaseOptions = {},
): Policy<Dimension, Unit, Name> {
  assertKnownOptions('lease', options, ['duration', 'most'])
  const lasting = durationMs('lease.duration', options.duration ?? '1s')
  const most = assertPositiveInteger('lease.most', options.most ?? 100, 10_000)
  const rules = typeof policy === 'function' && policy.length === 0 ? policy() : undefined
  if (!Array.isArray(rules)) throw invalid('policy', 'must be a policy, such as slidingWindow(…)')
  const leasedRules = (rules as readonly PolicyRule[]).map((rule) => leaseRule(rule, lasting, most))
  return createPolicy(leasedRules) as Policy<Dimension, Unit, Name>
}

/** The settlement twins of Sluice's algorithms that can be leased: those of the others are not loaded. */
const SETTLEMENTS = { fixed: fixedWindowSettlement, sliding: slidingLogSettlement }

/** Returns true if `lease` takes a policy, as far as its way of counting goes. */
export const canBeLeased = ({ algorithm, keyspace }: PolicyRule): boolean =>
  !keyspace && algorithm.traits?.lengthen !== undefined

function leaseRule(rule: PolicyRule, lasting: number, most: number): LeasedRule {
  const { name, algorithm, stripes, windowMs, balance } = rule
  if (balance) {
    const message = `"${name}" cannot be leased: if a process dies, the units that it holds of a balance do not come back`
    throw invalid('policy', message)
  }
  const { lengthen, windowEnd } = algorithm.traits ?? {}
  const settlement = settlementIn(SETTLEMENTS, algorithm)
  // A unit may be served up to `lasting` after it was charged. In a window that is longer by as much it
  // still counts then.
  const params = rule.keyspace ? undefined : lengthen?.(rule.params, lasting)
  if (!params || !settlement) {
    const message = `"${name}" cannot be leased; only slidingWindow, fixedWindow, dailyCap, monthlyCap and others with settlement and the trait lengthen can, once`
    throw invalid('policy', message)
  }
  if (stripes > 1) throw invalid('policy', `"${name}" must have no stripes: leases need none`)
  if (lasting > windowMs) {
    throw invalid('duration', `must be at most ${windowMs} ms, the window of "${name}"`)
  }
  const counted = Object.freeze({
    ...rule,
    algorithm: { ...algorithm, settlement },
    params,
    keyspace: { name, params },
  })
  return Object.freeze({
    ...counted,
    // No store has a script for this list of numbers, so a store in Redis has to ask for the Lua.
    params: [...params, lasting],
    algorithm: { ...counted.algorithm, lua: () => refuseToCount(name) },
    lease: { durationMs: lasting, most, isAligned: windowEnd !== undefined, counted },
  })
}

function refuseToCount(name: string): never {
  throw invalidOption('store', `must be leased(…): policy "${name}" is leased`)
}

const invalid = (option: string, message: string): ConfigError =>
  invalidOption(`lease.${option}`, message)
