import type { PolicyRule } from '../policies/policy.ts'
import { keyPrefix } from '../policies/rules.ts'

/** A policy with the parts of its keys that are the same for all requests. */
export interface CompiledPolicy {
  readonly policy: PolicyRule
  /** The start of its keys, before the partition. */
  readonly prefix: string
  /** Identifies its `per`. Policies with the same one share a partition, encoded once in a decision. */
  readonly perIndex: number
  /** The name by which `rollout` chooses partitions. Windows over one log share it. */
  readonly rolloutName: string
  /** The decisions that lacked a dimension of it; not a number as soon as one lacks none. */
  lacking: number
}

/** A limiter's policies, compiled once. */
export interface Program {
  readonly policies: readonly PolicyRule[]
  readonly compiled: readonly CompiledPolicy[]
  /** The dimensions that keys contain. */
  readonly dimensions: readonly string[]
  /** The units that a cost may name. */
  readonly units: ReadonlySet<string>
}

/** Compiles policies into a program. */
export function compile(policies: readonly PolicyRule[]): Program {
  const pers = [...new Set(policies.map(({ per }) => String(per)))]
  const compiled = policies.map((policy): CompiledPolicy => {
    const { name, per, keyspace } = policy
    return {
      policy,
      prefix: `${keyPrefix(policy)}:`,
      perIndex: pers.indexOf(String(per)),
      rolloutName: keyspace?.name ?? name,
      lacking: 0,
    }
  })
  return {
    policies,
    compiled,
    dimensions: [...new Set(policies.flatMap(({ per }) => (per === 'global' ? [] : per)))],
    units: new Set(['request', ...policies.map(({ unit }) => unit)]),
  }
}
