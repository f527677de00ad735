import type { Policy, PolicyRule, Limiter, Plans } from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'
import type { Prices } from '@sluice/ai'
import { createLimiter, definitionOf } from '@sluice/core'
import { memory } from '@sluice/core/memory'

/** Limits to replay a log through: those of a limiter, or policies and plans. */
export type Limits = (
  | { readonly limiter: Pick<Limiter, 'check'> }
  | { readonly policies: readonly Policy[]; readonly plans?: Plans | undefined }
) & {
  readonly prices?: Prices | undefined
  /** Settings that `runtimeConfiguration` allows, in force from the first call on. @default none */
  readonly configuration?: readonly DesiredEntry[] | undefined
}

/** A policy that a replay leaves out, and why. */
export interface OmittedPolicy {
  readonly name: string
  readonly reason: string
}

/** Limits in the form that is replayed. */
export interface PolicySet {
  /** The name in reports, such as that of the file. */
  readonly name: string
  readonly rules: readonly PolicyRule[]
  /** The same, with the policies of `credits`, which a replay has with an opening balance. */
  readonly rulesWithCredits: readonly PolicyRule[]
  readonly omitted: readonly OmittedPolicy[]
  readonly plans: Plans | undefined
  readonly prices: Prices | undefined
  readonly configuration: readonly DesiredEntry[] | undefined
}

/**
 * Prepares limits for a replay.
 *
 * @throws ConfigError When they are invalid.
 * @example
 * const set = policySet('limits.ts', { limiter })
 */
export function policySet(name: string, limits: Limits): PolicySet {
  const limiter =
    'limiter' in limits
      ? limits.limiter
      : createLimiter({
          store: memory(),
          // As credits need it: memory does not fail.
          onStoreError: 'deny',
          policies: limits.policies,
          ...plansOf(limits.plans),
        })
  const { rules, plans } = definitionOf(limiter)
  const omitted = rules.flatMap(
    (rule) => reasonToOmit(rule, limits.configuration !== undefined) ?? [],
  )
  const names = new Set(omitted.map((policy) => policy.name))
  const replayed = rules
    .filter(({ name: own, balance }) => balance || !names.has(own))
    .map(withOneStripe)
  const configuration = limits.configuration?.filter(({ policy }) => !names.has(policy))
  return {
    name,
    rules: replayed.filter(({ balance }) => !balance),
    rulesWithCredits: replayed,
    omitted,
    plans,
    prices: limits.prices,
    configuration,
  }
}

/** Stripes are chosen at random, and a replay must give the same result each time. */
const withOneStripe = (rule: PolicyRule): PolicyRule => ({ ...rule, stripes: 1 })

function reasonToOmit(
  { name, reason, limit, balance }: PolicyRule,
  isConfigured: boolean,
): OmittedPolicy | undefined {
  if (reason === 'concurrency_exceeded') {
    return {
      name,
      reason: 'it counts calls in flight, and a replay decides each call at its start',
    }
  }
  if (balance) {
    return {
      name,
      reason:
        'it counts credits, whose grants are not in the log; a replay has it with an opening balance',
    }
  }
  return limit === 'configured' && !isConfigured
    ? { name, reason: 'its limit is set at run time' }
    : undefined
}

/** Returns the set with its policies of `credits`. */
export function withCredits(set: PolicySet): PolicySet {
  const rules = set.rulesWithCredits
  const names = new Set(rules.map(({ name }) => name))
  return { ...set, rules, omitted: set.omitted.filter(({ name }) => !names.has(name)) }
}

/** Plans as an option of `createLimiter`, which has no `undefined`. */
export const plansOf = (plans: Plans | undefined): { plans?: Plans } => (plans ? { plans } : {})
