import type { PolicyUsageRow, Usage } from '../../rows.ts'
import type { Evidence, Finding } from './finding.ts'
import { isOneTenant } from './words.ts'
import { groupBy } from './series.ts'

/** The use of one budget: a policy with one limit, of one tenant or, without its name, of all together. */
export interface Budget extends Pick<
  PolicyUsageRow,
  'tenant' | 'route' | 'policy' | 'unit' | 'limit' | 'windowMs'
> {
  readonly rows: readonly PolicyUsageRow[]
}

/** The use to look at, the dimension of tenants, and the windows of policies. */
interface BudgetFilter {
  readonly usage: Usage
  readonly by: string
  readonly hasWindow: (windowMs: number) => boolean
}

/**
 * Returns the findings about budgets of policies that count by tenant, by tenant and route, or for everyone. A policy that
 * counts by anything else has budgets that rows do not tell apart.
 */
export function findByBudget(
  { usage, by, hasWindow }: BudgetFilter,
  find: (budget: Budget) => Evidence | undefined,
): Omit<Finding, 'kind'>[] {
  const known = new Set(['global', by, `${by}+route`, `route+${by}`])
  const rows = usage.policies.filter(
    ({ per, tenant, unit, windowMs }) =>
      // A balance without an allowance has no rate.
      windowMs > 0 &&
      hasWindow(windowMs) &&
      known.has(per) &&
      unit !== 'call' &&
      (per === 'global' || isOneTenant(tenant)),
  )
  return [...groupBy(rows, budgetKey).values()].flatMap((group) => {
    const [first] = group
    if (!first || first.limit <= 0) return []
    const { per, route, policy, unit, limit, windowMs } = first
    const tenant = per === 'global' ? '' : first.tenant
    const found = find({ tenant, route, policy, unit, limit, windowMs, rows: group })
    return found ? [{ tenant, ...found }] : []
  })
}

const budgetKey = ({ per, tenant, route, policy, limit }: PolicyUsageRow): string =>
  [per === 'global' ? '' : tenant, route, policy, limit].join('\n')
