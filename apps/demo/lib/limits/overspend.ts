import { usd } from '@sluice/ai'
import { concurrency, createLimiter, dailyCap, sessionWindow, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'

/** The budget of each way of a comparison, in micro-dollars. */
export const BUDGET = usd(1)

// Calls come to the store in the order in which they ask, so that each comparison has the same figures.
const pipeline = false
const store = upstash({ pipeline, timeoutMs: Number(process.env['STORE_TIMEOUT_MS'] ?? 5_000) })

/** The comparison's budgets, one for each `run`: it ends by itself, without leaving anything in the store. */
export const budgetLimiter = createLimiter({
  store,
  policies: [
    sessionWindow({ name: 'overspend', unit: 'usd', limit: BUDGET, per: ['run'], idle: '2m' }),
  ],
  // A budget of this process alone would compare nothing.
  onStoreError: 'deny',
})

/** The limiter of comparisons: one at a time, three a minute and 200 a day. */
export const runLimiter = createLimiter({
  store,
  // A comparison takes some 2,000 requests to the store, which somebody pays for.
  policies: [
    dailyCap({ name: 'comparisons-today', limit: 200, per: 'global' }),
    slidingWindow({ name: 'comparisons', limit: 3, window: '1m', per: 'global' }),
    concurrency({ name: 'comparing', limit: 1, per: 'global', maxDuration: '30s' }),
  ],
  onStoreError: 'deny',
})
