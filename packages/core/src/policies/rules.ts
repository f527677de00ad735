import type { Policy, PolicyRule } from './policy.ts'
import { ConfigError } from '../errors.ts'
import { assertPer } from '../subject.ts'
import { assertName, invalidOption } from '../internal/validation.ts'

/** Returns the rules of a limiter's policies. @throws ConfigError Unless there are some, with distinct names. */
export function collectRules(policies: unknown): readonly PolicyRule[] {
  if (!Array.isArray(policies) || policies.length === 0) {
    throw invalidOption('policies', 'must be a list of at least one policy', policies)
  }
  const rules: PolicyRule[] = []
  // Names, and key prefixes with their keyspace: only rules with the same keyspace may share keys.
  const keyspaces = new Map<string, unknown>()
  for (const [index, policy] of (policies as readonly unknown[]).entries()) {
    const option = `policies[${index}]`
    for (const rule of rulesOf(option, policy)) {
      const { name, keyspace } = rule
      assertRule(option, rule)
      const prefix = keyPrefix(rule)
      if (keyspaces.has(name) || (keyspaces.has(prefix) && keyspaces.get(prefix) !== keyspace)) {
        const duplicate = keyspaces.has(name) ? name : keyspace?.name
        const message = `must not be named "${duplicate}", as another is`
        throw new ConfigError('duplicate_policy', option, message)
      }
      keyspaces.set(name, rule).set(prefix, keyspace)
      rules.push(rule)
    }
  }
  return Object.freeze(rules)
}

function rulesOf(option: string, policy: unknown): readonly PolicyRule[] {
  // A factory that was not called would be a function with parameters.
  const rules = typeof policy === 'function' && policy.length === 0 && (policy as Policy)()
  if (!Array.isArray(rules)) throw invalidPolicy(option, policy)
  return rules as readonly PolicyRule[]
}

/** Validates the parts of a rule that keys contain: the rule may not come from a factory. */
function assertRule(option: string, { name, params, per }: PolicyRule): void {
  assertName(`${option}.name`, name)
  if (!params.every((param) => Number.isInteger(param) && param >= 0)) {
    throw invalidPolicy(option, params)
  }
  assertPer(`${option}.per`, per)
}

function invalidPolicy(option: string, given: unknown): ConfigError {
  return invalidOption(option, 'must be created by a factory, such as slidingWindow', given)
}

/** Returns the rules that count in the same keys as `rule`, including itself. */
export const rulesSharingKeys = (
  { name, keyspace }: PolicyRule,
  rules: readonly PolicyRule[],
): readonly PolicyRule[] =>
  rules.filter(
    (other) => other.name === name || (keyspace !== undefined && other.keyspace === keyspace),
  )

/** Returns the part of a rule's keys before the partition. */
export function keyPrefix({ name, params, keyspace, algorithm }: PolicyRule): string {
  // Includes the algorithm and its params: a policy that is changed starts anew instead of misreading
  // what it wrote before.
  const { name: keyName, params: keyParams } = keyspace ?? { name, params }
  return `${keyName}:${algorithm.keyId ?? algorithm.id}-${keyParams.join('-')}`
}

/** Returns a text that differs between rules of one name and `per` that do not go on with each other's counts. */
export const countingOf = (rule: PolicyRule): string =>
  rule.stripes > 1 ? `${keyPrefix(rule)} in ${rule.stripes} stripes` : keyPrefix(rule)
