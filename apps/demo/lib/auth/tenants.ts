import type { Tenant } from './jwt'

/** The tenants of the demo, at least one on each plan. */
export const tenants = [
  { tenant: 'starter-1', plan: 'starter' },
  { tenant: 'starter-2', plan: 'starter' },
  { tenant: 'growth-1', plan: 'growth' },
  { tenant: 'professional-1', plan: 'professional' },
  { tenant: 'enterprise-1', plan: 'enterprise' },
  { tenant: 'trial-1', plan: 'trial' },
] as const satisfies readonly Tenant[]
