import type { Entry, Policy, PolicyRule, StoreRequest } from '@sluice/core'

/** The rules of policies, as a limiter lists them. */
export const rulesOf = (...policies: Policy[]): readonly PolicyRule[] =>
  Object.freeze(policies.flatMap((policy) => policy()))

/** An entry of each rule, under a key of its own or of its keyspace: by default 1 of 10 units. */
export function entriesOf(rules: readonly PolicyRule[], numbers: Partial<Entry> = {}): Entry[] {
  const { limit = 10 } = numbers
  return rules.map((policy, index) => ({
    policy,
    index,
    key: policy.keyspace?.name ?? policy.name,
    params: policy.params,
    limit,
    burst: limit,
    cost: 1,
    enforced: true,
    ...numbers,
  }))
}

/** A request to charge these entries now, as a limiter makes it of these rules. */
export function storeRequest(
  policies: readonly PolicyRule[],
  entries: readonly Entry[],
  changes: Partial<StoreRequest> = {},
): StoreRequest {
  const now = Date.now()
  return {
    policies,
    entries,
    apply: true,
    now,
    clockIsInjected: false,
    startedAt: now,
    reads: [],
    id: 'x',
    ...changes,
  }
}
