import type { Decision } from '@sluice/core'
import { entryOf } from '../groups.ts'
import type { ShadowPolicyReport, Use } from './report-types.ts'

/** Counts under construction. */
interface Sum {
  requests: number
  denied: number
  tokens: number
  usd: number
}

interface PolicyTally extends Sum {
  readonly tenants: Map<string, Sum>
}

/** Counts what policies in shadow would have denied of the calls that were allowed. */
export interface ShadowTally {
  add(tenant: string, use: Use, decision: Decision): void
  /** Returns the policies that were in shadow. */
  report(): ShadowPolicyReport[]
}

/** Creates an empty tally. */
export function createShadowTally(): ShadowTally {
  const policies = new Map<string, PolicyTally>()
  return {
    add(tenant, use, decision) {
      if (!decision.allowed) return
      for (const { name, enforced, fits } of decision.policies) {
        if (enforced) continue
        const policy = entryOf(policies, name, () => ({ ...nothing(), tenants: new Map() }))
        count(policy, use, !fits)
        count(entryOf(policy.tenants, tenant, nothing), use, !fits)
      }
    },
    report: () =>
      Array.from(policies, ([policy, { tenants, ...sum }]) => ({
        policy,
        ...sum,
        tenants: Array.from(tenants, ([tenant, own]) => ({ tenant, ...own }))
          .filter(({ denied }) => denied > 0)
          .toSorted((a, b) => b.denied - a.denied),
      })),
  }
}

const nothing = (): Sum => ({ requests: 0, denied: 0, tokens: 0, usd: 0 })

function count(sum: Sum, { tokens, usd }: Use, isDenied: boolean): void {
  sum.requests += 1
  if (!isDenied) return
  sum.denied += 1
  sum.tokens += tokens
  sum.usd += usd
}
