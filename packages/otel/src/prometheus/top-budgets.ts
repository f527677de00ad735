import type { LimiterEvents, PolicyRule, Subject } from '@sluice/core'
import { shareUsed } from '../decision-facts.ts'

const DAY_MS = 86_400_000

/** A tenant's use of a budget: by whom it was asked last, and the used share, from 0 to 1. */
interface Use {
  readonly subject: Subject
  readonly used: number
}

/**
 * Returns the names of the budgets among policies: limits of a tenant over a day or longer. Those over a minute
 * are full all the time.
 */
export const budgetsAmong = (policies: readonly PolicyRule[]): ReadonlySet<string> =>
  new Set(
    policies
      .filter(({ per, windowMs }) => String(per) === 'tenant' && windowMs >= DAY_MS)
      .map(({ name }) => name),
  )

/** The tenants that have used the largest share of each budget: at most `max` a budget. */
export class TopBudgets {
  readonly #max: number
  readonly #budgets = new Map<string, Map<string, Use>>()

  constructor(max: number) {
    this.#max = max
  }

  see({ decision, subject }: LimiterEvents['decision'], budgets: ReadonlySet<string>): void {
    const { tenant } = subject
    if (tenant === undefined || decision.degraded) return
    for (const state of decision.policies) {
      if (state.limit === 0 || !budgets.has(state.name)) continue
      this.#keep(state.name, tenant, { subject, used: shareUsed(state) })
    }
  }

  /** The tenants, as they asked last. */
  get subjects(): readonly Subject[] {
    const subjects = new Map<string, Subject>()
    for (const uses of this.#budgets.values()) {
      for (const [tenant, { subject }] of uses) subjects.set(tenant, subject)
    }
    return [...subjects.values()]
  }

  has(policy: string, { tenant = '' }: Subject): boolean {
    return this.#budgets.get(policy)?.has(tenant) === true
  }

  /** Takes over the shares that a tenant has used by now, by policy. A policy without a share is no budget of it. */
  correct(subject: Subject, shares: ReadonlyMap<string | undefined, number>): void {
    const { tenant = '' } = subject
    for (const [policy, uses] of this.#budgets) {
      if (!uses.has(tenant)) continue
      const used = shares.get(policy)
      if (used === undefined) uses.delete(tenant)
      else uses.set(tenant, { subject, used })
    }
  }

  #keep(policy: string, tenant: string, use: Use): void {
    const uses = this.#budgets.get(policy) ?? new Map<string, Use>()
    this.#budgets.set(policy, uses)
    if (!uses.has(tenant) && uses.size >= this.#max) {
      const [least] = [...uses].toSorted(([, a], [, b]) => a.used - b.used)
      if (!least || least[1].used >= use.used) return
      uses.delete(least[0])
    }
    uses.set(tenant, use)
  }
}
