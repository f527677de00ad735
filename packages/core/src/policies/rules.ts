import type { Policy, PolicyRule } from './policy.ts'
import { ConfigError } from '../errors.ts'
import { assertPer } from '../subject.ts'
import { assertName } from '../internal/validation.ts'

/** The rules of a limiter's policies. @throws ConfigError Unless they are some, with distinct names. */
export function collectRules(policies: unknown): readonly PolicyRule[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw new ConfigError('invalid_option', 'policies', 'must be a list of at least one policy')
  }
  const rules: PolicyRule[] = []
  // By name and by key: policies of one keyspace share both its object and their keys.
  const taken = new Map<string, unknown>()
  for (const policy of policies as readonly unknown[]) {
    // A factory that was not called takes options.
    const made = typeof policy === 'function' && policy.length === 0 && (policy as Policy)()
    if (!Array.isArray(made)) throw notMade()
    for (const rule of made as readonly PolicyRule[]) {
      const { name, keyspace } = rule
      // A rule made by hand has not been through a factory.
      assertName('policies.name', name)
      if (!rule.params.every((number) => Number.isInteger(number) && number >= 0)) throw notMade()
      assertPer(`policies.${name}.per`, rule.per)
      const prefix = keyPrefix(rule)
      if (taken.has(name) || (taken.has(prefix) && taken.get(prefix) !== keyspace)) {
        const twice = taken.has(name) ? name : keyspace?.name
        throw new ConfigError('duplicate_policy', 'policies', `names "${twice}" twice`)
      }
      taken.set(name, rule).set(prefix, keyspace)
      rules.push(rule)
    }
  }
  return Object.freeze(rules)
}

function notMade(): ConfigError {
  const message = 'must hold only what factories return, such as slidingWindow({ … })'
  return new ConfigError('invalid_option', 'policies', message)
}

/** Those of `rules` that count in the same keys, `rule` among them. */
export const rulesSharingKeys = (
  { name, keyspace }: PolicyRule,
  rules: readonly PolicyRule[],
): readonly PolicyRule[] =>
  rules.filter(
    (other) => other.name === name || (keyspace !== undefined && other.keyspace === keyspace),
  )

/** The part of a rule's keys before the partition. */
export function keyPrefix({ name, params, keyspace, algorithm }: PolicyRule): string {
  // The algorithm and its numbers are part of the key: a policy that is changed starts afresh
  // instead of misreading what its former self wrote.
  const space = keyspace ?? { name, params }
  return `${space.name}:${algorithm.id}-${space.params.join('-')}`
}
