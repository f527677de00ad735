import { dailyCap, slidingWindow, type Per, type Policy } from '@sluice/core'

/** A limit that no measurement reaches. */
export const AMPLE = 1_000_000

/** A sliding window of an hour, so that nothing expires during a measurement. */
export const hourly = (limit = AMPLE, name = 'window', per: Per = ['tenant']): Policy =>
  slidingWindow({ name, limit, window: '1h', per })

const daily = (limit = AMPLE): Policy => dailyCap({ name: 'daily', limit, per: ['tenant'] })

/** A daily cap and a window of `limit`. */
export const dailyAndWindow = (limit = AMPLE): Policy[] => [daily(), hourly(limit)]

/** Four tiers, a daily cap, and a budget in another unit. */
export const sixPolicies = (): Policy[] => [
  hourly(AMPLE, 'all', 'global'),
  hourly(AMPLE, 'tenant', ['tenant']),
  hourly(AMPLE, 'endpoint', ['tenant', 'route']),
  hourly(AMPLE, 'user', ['tenant', 'user']),
  daily(),
  slidingWindow({
    name: 'budget',
    limit: AMPLE * BUDGET_COST,
    window: '1h',
    per: ['tenant'],
    unit: 'usd',
  }),
]

/** Units of the budget per request. */
export const BUDGET_COST = 500

/** The tenants of a measurement, in turn. */
export function tenants(count = 1_000): () => string {
  let next = 0
  return () => `t${(next += 1) % count}`
}
