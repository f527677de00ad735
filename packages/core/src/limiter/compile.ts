import type { PolicyRule } from '../policies/policy.ts'
import { keyPrefix } from '../policies/rules.ts'

/** A policy with the parts of its keys that are the same for all requests. */
export interface CompiledPolicy {
  readonly policy: PolicyRule
  /** The start of its keys, before the partition. */
  readonly prefix: string
  /** Its latest keys by the value of its only dimension. */
  readonly recentKeys: Map<unknown, string>
  /** The first decisions that lacked a dimension of it; Infinity as soon as one has all. */
  missingDimensionCount: number
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
  const compiled = policies.map((policy): CompiledPolicy => ({
    policy,
    prefix: `${keyPrefix(policy)}:`,
    recentKeys: new Map(),
    missingDimensionCount: 0,
  }))
  return {
    policies,
    compiled,
    dimensions: [...new Set(policies.flatMap(({ per }) => (per === 'global' ? [] : per)))],
    units: new Set(['request', ...policies.map(({ unit }) => unit)]),
  }
}
