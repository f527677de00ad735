import { modelPolicies, usd } from '@sluice/ai'
import { createLimiter, definePlans, type Limiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { RedisSettings } from './env.ts'

/** The limits of a tenant by plan, over all of its keys and models. Change these to your own. */
export const PLANS = {
  starter: { rpm: 20, tpm: 40_000, dailyUsd: usd(1), monthlyUsd: usd(10), inFlight: 3 },
  growth: { rpm: 60, tpm: 200_000, dailyUsd: usd(5), monthlyUsd: usd(100), inFlight: 10 },
  professional: { rpm: 150, tpm: 1_000_000, dailyUsd: usd(25), monthlyUsd: usd(500), inFlight: 25 },
  enterprise: {
    rpm: 400,
    tpm: 4_000_000,
    dailyUsd: usd(200),
    monthlyUsd: usd(4_000),
    inFlight: 100,
  },
}

/** The most output tokens of one answer, and so what a call reserves until its usage is known. */
export const MAX_OUTPUT = 8_192

/** The fewest: a call is sent with as many as its budgets have room for, and denied below this. */
export const MIN_OUTPUT = 256

const policies = modelPolicies({
  per: ['tenant'],
  rpm: ({ plan }) => plan.rpm,
  tpm: ({ plan }) => plan.tpm,
  daily: ({ plan }) => plan.dailyUsd,
  monthly: ({ plan }) => plan.monthlyUsd,
  inFlight: ({ plan }) => plan.inFlight,
})

/** Creates the limiter of all model calls. */
export function limiterFor(redis: RedisSettings): Limiter {
  return createLimiter({
    store: upstash({ ...redis }),
    plans: definePlans(PLANS),
    policies,
    // Nobody can tell then what was spent, and isolates that count alone would multiply each budget.
    onStoreError: 'deny',
  })
}
