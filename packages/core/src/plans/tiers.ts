/**
 * The limits of four plan tiers, ready made: requests a minute (`rpm`) and a day (`daily`). Replace or add what
 * differs.
 *
 * @example
 * const plans = definePlans(PLAN_TIERS)
 * const own = definePlans({ ...PLAN_TIERS, growth: { rpm: 90, daily: 3_000 } })
 */
export const PLAN_TIERS: {
  readonly [Plan in 'starter' | 'growth' | 'professional' | 'enterprise']: {
    readonly rpm: number
    readonly daily: number
  }
} = {
  starter: { rpm: 20, daily: 500 },
  growth: { rpm: 60, daily: 2_000 },
  professional: { rpm: 150, daily: 8_000 },
  enterprise: { rpm: 400, daily: 30_000 },
}
