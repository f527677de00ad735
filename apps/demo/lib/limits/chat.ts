import { concurrency, createLimiter, definePlans, slidingWindow } from '@sluice/core'
import { budget, usd } from '@sluice/ai'
import { upstash } from '@sluice/core/upstash'
import { dashboard } from '../dashboard'
import { demoClock } from '../development/clock'
import { usageRecords } from '../usage'

/** Daily budgets that are small enough for a demo to use up. */
const plans = definePlans({
  starter: { dailyUsd: usd(0.05), tpm: 20_000, calls: 5 },
  growth: { dailyUsd: usd(0.2), tpm: 40_000, calls: 10 },
  professional: { dailyUsd: usd(1), tpm: 100_000, calls: 20 },
  enterprise: { dailyUsd: usd(5), tpm: 400_000, calls: 50 },
  trial: { dailyUsd: usd(0.02), tpm: 10_000, calls: 3 },
})

/** The limiter of `/api/chat`. */
export const chatLimiter = createLimiter({
  store: upstash({ timeoutMs: Number(process.env['STORE_TIMEOUT_MS'] ?? 1_000) }),
  plans,
  extensions: [dashboard.watch({ name: 'Chat' }), ...usageRecords],
  ...demoClock,
  policies: [
    budget({ daily: ({ plan }) => plan.dailyUsd, per: ['tenant'] }),
    slidingWindow({
      name: 'tpm',
      unit: 'token',
      limit: ({ plan }) => plan.tpm,
      window: '1m',
      per: ['tenant'],
    }),
    concurrency({
      name: 'in-flight',
      limit: ({ plan }) => plan.calls,
      per: ['tenant'],
      maxDuration: '2m',
    }),
  ],
})
