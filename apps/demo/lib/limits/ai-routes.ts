import { createLimiter, dailyCap, definePlans, slidingWindow, type Limiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'

/** What is limited. Each route has a budget of its own per minute; the daily cap is for all of them. */
export const routes = [
  { path: '/api/ai/evaluate', id: 'evaluate' },
  { path: '/api/ai/generate-questions', id: 'generate-questions' },
  { path: '/api/ai/feedback', id: 'feedback' },
  { path: '/api/ai/probe', id: 'probe' },
]

export const plans = definePlans({
  starter: { rpm: 20, daily: 500 },
  growth: { rpm: 60, daily: 2_000 },
  professional: { rpm: 150, daily: 8_000 },
  enterprise: { rpm: 400, daily: 30_000 },
  // Only for the demo: a day's quota that a few clicks use up.
  trial: { rpm: 20, daily: 50 },
})

let limiter: Limiter | undefined

/** The app's limiter, made at the first request: a build has no UPSTASH_REDIS_REST_URL. */
export function getLimiter(): Limiter {
  limiter ??= createLimiter({
    // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN say where it is. When it takes longer than
    // this, each instance of the app goes on limiting by itself.
    store: upstash({ timeoutMs: Number(process.env['STORE_TIMEOUT_MS'] ?? 1_000) }),
    plans,
    policies: [
      dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] }),
      slidingWindow({
        name: 'rpm',
        limit: ({ plan }) => plan.rpm,
        window: '1m',
        per: ['tenant', 'route'],
      }),
    ],
  })
  return limiter
}
