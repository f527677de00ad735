import type { PolicyRule } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import { keyPrefix } from '../policies/rules.ts'

/** The first rule of this process for each kind of keys in a store; `null` after a warning. */
const firstRules = new WeakMap<Store, Map<string, PolicyRule | null>>()

/** The most kinds of keys to remember of a store, in case that names are made from requests. */
const MAX_KINDS = 1_000

/** Warns, once, of a rule that counts in the keys of another limiter's rule and compares with another limit. */
export function warnOfSharedCounts(store: Store, rules: readonly PolicyRule[]): void {
  const known = firstRules.get(store) ?? new Map<string, PolicyRule | null>()
  firstRules.set(store, known)
  for (const rule of rules) {
    const { name, per } = rule
    const kind = `${name} ${keyPrefix(rule)} ${String(per)}`
    const first = known.get(kind)
    if (first === undefined && known.size < MAX_KINDS) known.set(kind, rule)
    const differs = (['limit', 'burst', 'unit'] as const).some((option) => {
      const values = [first?.[option], rule[option]]
      return (
        first && values[0] !== values[1] && !values.some((value) => typeof value === 'function')
      )
    })
    if (!differs) continue
    known.set(kind, null)
    console.warn(
      `Sluice: policies.${name}: two limiters count it together, with other limits; rename one`,
    )
  }
}
