import { usd } from '@sluice/ai'
import {
  concurrency,
  createLimiter,
  dailyCap,
  sessionWindow,
  slidingWindow,
  type Limiter,
} from '@sluice/core'
import { upstash } from '@sluice/core/upstash'

/** The budget of each way of a comparison, in micro-dollars. */
export const BUDGET = usd(1)

const store = () => upstash({ timeoutMs: Number(process.env['STORE_TIMEOUT_MS'] ?? 5_000) })

/** A budget for each `run`: it ends by itself, without leaving anything in the store. */
const createBudget = () =>
  createLimiter({
    store: store(),
    policies: [
      sessionWindow({ name: 'overspend', unit: 'usd', limit: BUDGET, per: ['run'], idle: '2m' }),
    ],
    // A budget of this process alone would compare nothing.
    onStoreError: 'deny',
  })

let budgetLimiter: ReturnType<typeof createBudget> | undefined

/** Returns the limiter of the comparison's budgets. The first request creates it. */
export function getBudgetLimiter(): ReturnType<typeof createBudget> {
  budgetLimiter ??= createBudget()
  return budgetLimiter
}

let runLimiter: Limiter | undefined

/** Returns the limiter of comparisons: one at a time, three a minute and 200 a day. */
export function getRunLimiter(): Limiter {
  runLimiter ??= createLimiter({
    store: store(),
    // A comparison takes some 2,000 requests to the store, which somebody pays for.
    policies: [
      dailyCap({ name: 'comparisons-today', limit: 200, per: 'global' }),
      slidingWindow({ name: 'comparisons', limit: 3, window: '1m', per: 'global' }),
      concurrency({ name: 'comparing', limit: 1, per: 'global', maxDuration: '30s' }),
    ],
    onStoreError: 'deny',
  })
  return runLimiter
}
