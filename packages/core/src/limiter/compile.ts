import type { PolicyRule } from '../policies/policy.ts'
import type { Per } from '../subject.ts'
import { keyPrefix } from '../policies/rules.ts'

/** A policy, with what never changes about its keys. */
export interface CompiledPolicy {
  readonly policy: PolicyRule
  /** The first part of its keys. */
  readonly prefix: string
  /** The position of its `per` in the program's list. */
  readonly per: number
  /** The name that `rollout` chooses partitions by: windows of one log are let in together. */
  readonly rolloutName: string
}

/** A limiter's policies, compiled once. */
export interface Program {
  readonly policies: readonly PolicyRule[]
  readonly compiled: readonly CompiledPolicy[]
  /** The distinct ways to partition: each is worked out once in a decision. */
  readonly pers: readonly Per[]
  /** Every dimension that stands in a key. */
  readonly dimensions: readonly string[]
  /** Every unit that may be asked for. */
  readonly units: ReadonlySet<string>
}

/** Turns policies into a program. */
export function compile(policies: readonly PolicyRule[]): Program {
  const pers = new Map<string, Per>()
  for (const { per } of policies) pers.set(String(per), per)
  const names = [...pers.keys()]
  const compiled = policies.map((policy): CompiledPolicy => {
    const { name, per, keyspace } = policy
    return {
      policy,
      prefix: `${keyPrefix(policy)}:`,
      per: names.indexOf(String(per)),
      rolloutName: keyspace?.name ?? name,
    }
  })
  return {
    policies,
    compiled,
    pers: [...pers.values()],
    dimensions: [...new Set(policies.flatMap(({ per }) => (per === 'global' ? [] : per)))],
    units: new Set(['request', ...policies.map(({ unit }) => unit)]),
  }
}
