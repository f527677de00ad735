/* The common part of policies that stand beside a limit, such as its shares or its line. */
import type { LimitContext } from './limit.ts'
import type { PolicyRule } from './policy.ts'
import type { Rollout } from './rollout.ts'
import { invalidOption } from '../internal/validation.ts'
import { hash } from '../internal/hash.ts'
import { assertPer, encodePartition, lacksDimension, type Subject } from '../subject.ts'

/** The longest name of a policy. */
const MAX_NAME = 64

/** A kind of policy beside a limit. */
export interface Kind {
  /** The function that creates it, as errors name it. */
  readonly factory: string
  /** The end of its name. */
  readonly suffix: string
  /** The text for other policies, after their name: "cannot be shared; only …". */
  readonly refusal: string
  /** The reason to refuse stripes. */
  readonly ofStripes: string
  canTake(rule: PolicyRule): boolean
}

/** Returns the rule of a policy that another can stand beside. @throws ConfigError When it is another policy. */
export function ruleBeside(kind: Kind, policy: unknown): PolicyRule {
  const { factory, suffix, refusal, ofStripes } = kind
  const fail = (message: string): never => {
    throw invalidOption(`${factory}.policy`, message)
  }
  const rules: unknown = typeof policy === 'function' && policy.length === 0 ? policy() : undefined
  const [rule, ...others] = (Array.isArray(rules) ? rules : []) as PolicyRule[]
  if (rule === undefined) return fail('must be a policy, such as slidingWindow({ … })')
  if (others.length > 0 || 'lease' in rule || !kind.canTake(rule)) {
    fail(`"${rule.name}" ${refusal}`)
  }
  if (rule.stripes > 1) fail(`"${rule.name}" must have no stripes: ${ofStripes}`)
  const most = MAX_NAME - suffix.length
  if (rule.name.length > most) {
    fail(`"${rule.name}" must have at most ${most} characters: another is named "<name>${suffix}"`)
  }
  return rule
}

/** Returns the rule that stands beside another: for the same requests, settings and rollout. */
export function besideRule(
  { suffix }: Kind,
  rule: PolicyRule,
  own: Pick<PolicyRule, 'algorithm' | 'params' | 'numbers'> & Partial<PolicyRule>,
): PolicyRule {
  return Object.freeze({
    ...rule,
    name: rule.name + suffix,
    rollout: rule.rollout && rolledOutWith(rule, rule.rollout),
    backpressure: undefined,
    keyspace: undefined,
    calendar: undefined,
    follows: rule,
    ...own,
  })
}

/** Returns the numbers of requests, which begin with `limit` and end with `cost`. */
export const numbersOfEach = <Name extends string>(
  names: readonly Name[],
  of: (subject: Subject, context: LimitContext) => Readonly<Record<Name, number>>,
): NonNullable<PolicyRule['numbers']> => ({
  names: ['limit', ...names, 'cost'],
  of: ({ subject, limits }) => of(subject, limits),
})

/** Returns the number of a subject's member, from 1 on: a hash of its name. */
export function memberOf(rule: PolicyRule, between: readonly string[], subject: Subject): number {
  // Those without a name are one, if the policy is for them, too.
  const isNameless = rule.onMissing === 'skip' && lacksDimension(subject, between)
  return hash(isNameless ? '' : encodePartition(subject, between)) + 1
}

/** Returns `value` if it is a list of dimensions. @throws ConfigError Otherwise. */
export function assertBetween({ factory }: Kind, value: unknown): readonly string[] {
  const option = `${factory}.between`
  if (Array.isArray(value) && value.length > 0) return assertPer(option, value) as readonly string[]
  throw invalidOption(option, 'must be a list of dimensions, such as ["tenant"]', value)
}

/** Returns the rollout of a policy beside another: that of its limit, for the same partitions. */
const rolledOutWith = ({ name, keyspace }: PolicyRule, rollout: Rollout): Rollout => ({
  ...rollout,
  isEnabled: (_, partition) => rollout.isEnabled(keyspace?.name ?? name, partition),
  isEnforced: (_, partition) => rollout.isEnforced(keyspace?.name ?? name, partition),
})
