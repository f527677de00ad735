import type { ShadowPolicyReport } from '../simulation/report-types.ts'
import type { Table } from './text-table.ts'
import { count, dollars, percent } from './format.ts'
import { TOP } from './tables.ts'

type Counts = Omit<ShadowPolicyReport, 'policy' | 'tenants'>

const COUNTS = ['calls allowed', 'would be denied', 'share', 'tokens', 'dollars']

const rowOf = (name: string, { requests, denied, tokens, usd }: Counts): string[] => [
  name,
  count(requests),
  count(denied),
  percent(denied, requests),
  count(tokens),
  dollars(usd),
]

/** A table with its caption. */
interface CaptionedTable {
  readonly caption: string
  readonly table: Table
}

/** The tables about policies in shadow, and about the tenants of each: none if nothing is in shadow. */
export function shadowTables(policies: readonly ShadowPolicyReport[]): CaptionedTable[] {
  if (policies.length === 0) return []
  const all = {
    caption: 'What policies in shadow would have denied of the calls that were allowed',
    table: {
      head: ['policy in shadow', ...COUNTS],
      rows: policies.map((policy) => rowOf(policy.policy, policy)),
    },
  }
  const hurting = policies.filter(({ tenants }) => tenants.length > 0)
  return [all, ...hurting.map(tenantsOf)]
}

const tenantsOf = ({ policy, tenants }: ShadowPolicyReport): CaptionedTable => ({
  caption: `Tenants that "${policy}" would have denied most`,
  table: {
    head: ['tenant', ...COUNTS],
    rows: tenants.slice(0, TOP).map((tenant) => rowOf(tenant.tenant || '-', tenant)),
  },
})
