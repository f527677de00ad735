import type { PolicyUsageRow, Usage } from '../../rows.ts'
import { isOneTenant } from './words.ts'
import { groupBy } from './series.ts'

/** The use of one budget: a policy with one limit, of one tenant or, without its name, of all together. */
export interface Budget extends Pick<
  PolicyUsageRow,
  'tenant' | 'route' | 'policy' | 'unit' | 'limit' | 'windowMs'
> {
  readonly rows: readonly PolicyUsageRow[]
}

/**
 * Returns the budgets of policies that count by tenant, by tenant and route, or for everyone. A policy that counts by
 * anything else has budgets that rows do not tell apart.
 *
 * @param hasWindow Selects policies by their window.
 */
export function budgetsOf(
  { policies }: Usage,
  by: string,
  hasWindow: (windowMs: number) => boolean,
): Budget[] {
  const known = new Set(['global', by, `${by}+route`, `route+${by}`])
  const rows = policies.filter(
    ({ per, tenant, unit, windowMs }) =>
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
    return [{ tenant, route, policy, unit, limit, windowMs, rows: group }]
  })
}

const budgetKey = ({ per, tenant, route, policy, limit }: PolicyUsageRow): string =>
  [per === 'global' ? '' : tenant, route, policy, limit].join('\n')
