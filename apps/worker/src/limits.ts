import { createLimiter, dailyCap, definePlans, slidingWindow, type Limiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import type { Env } from './env.ts'

/** The limited routes. Each has its own budget per minute; the daily cap counts all of them. */
export const routes = [
  { path: '/api/ai/evaluate', id: 'evaluate' },
  { path: '/api/ai/generate-questions', id: 'generate-questions' },
  { path: '/api/ai/feedback', id: 'feedback' },
  { path: '/api/ai/probe', id: 'probe' },
]

const plans = definePlans({
  starter: { rpm: 20, daily: 500 },
  growth: { rpm: 60, daily: 2_000 },
  professional: { rpm: 150, daily: 8_000 },
  enterprise: { rpm: 400, daily: 30_000 },
  // For the example: a daily quota that a few requests use up.
  trial: { rpm: 20, daily: 50 },
})

const policies = [
  dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] }),
  slidingWindow({
    name: 'rpm',
    limit: ({ plan }) => plan.rpm,
    window: '1m',
    per: ['tenant', 'route'],
  }),
]

/** Creates the limiter with the database of the Worker's bindings. */
export function limiterFor(env: Env): Limiter {
  const store = upstash({
    url: env.UPSTASH_REDIS_REST_URL,
    token: env.UPSTASH_REDIS_REST_TOKEN,
    timeoutMs: Number(env.STORE_TIMEOUT_MS ?? 1_000),
  })
  return createLimiter({ store, plans, policies })
}
