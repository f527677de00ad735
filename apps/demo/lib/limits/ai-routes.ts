import { createLimiter, dailyCap, definePlans, slidingWindow } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { fairShare } from '@sluice/core/fair-share'
import { PLAN_TIERS } from '@sluice/core/plans'
import { upstash } from '@sluice/core/upstash'
import { relay } from '@sluice/dashboard/relay'
import { usageRecords } from '../usage'

/** The limited routes. Each has its own budget per minute; the daily cap counts all of them. */
export const routes = [
  { path: '/api/ai/evaluate', id: 'evaluate' },
  { path: '/api/ai/generate-questions', id: 'generate-questions' },
  { path: '/api/ai/feedback', id: 'feedback' },
  { path: '/api/ai/probe', id: 'probe' },
  { path: '/api/ai/summarize', id: 'summarize' },
  { path: '/api/ai/summarize-unshared', id: 'summarize-unshared' },
]

const plans = definePlans({
  ...PLAN_TIERS,
  // For the demo: a daily quota that a few clicks use up.
  trial: { rpm: 20, daily: 50 },
})

/** The limit of one GPU, which all tenants of a route share. */
const gpuOf = (name: string, route: string) =>
  slidingWindow({ name, limit: 40, window: '10s', per: 'global', routes: [route] })

/** The policies that all tenants share, for the demo's resets. */
export const GPU_POLICIES = ['gpu', 'gpu.share', 'gpu-unshared']

/** Micro-dollars that a call of these routes costs: 200 tokens in and 150 out, by the prices of gpt-6-luna. */
const CALL_USD = 95

/** The dashboard of this process, which edge middleware reaches over HTTP only. */
const dashboardTarget = () => {
  const { DEMO_RELAY_KEY: key, PORT } = process.env
  return key && PORT ? { url: `http://127.0.0.1:${PORT}/api/dashboard`, key } : undefined
}

/** The time for which an instance may deny what another one has reset. Short, for the demo's resets. */
export const DENIAL_AGE_MS = 1_000

/** The app's limiter. */
export const limiter = createLimiter({
  // The address is in UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN. If the store takes longer
  // than the timeout, each instance of the app limits on its own. A flood of denied requests must not slow
  // the store, so whoever is denied stays denied in memory.
  store: cacheDenials(upstash({ timeoutMs: Number(process.env['STORE_TIMEOUT_MS'] ?? 1_000) }), {
    maxAgeMs: DENIAL_AGE_MS,
  }),
  plans,
  policies: [
    dailyCap({ name: 'daily', limit: ({ plan }) => plan.daily, per: ['tenant'] }),
    slidingWindow({
      name: 'rpm',
      limit: ({ plan }) => plan.rpm,
      window: '1m',
      per: ['tenant', 'route'],
    }),
    // A part is never lent, so that whoever comes beside a greedy tenant finds room at once.
    fairShare(gpuOf('gpu', 'summarize'), { between: ['tenant'], headroom: 6 }),
    // For the demo: the same limit without shares, to compare.
    gpuOf('gpu-unshared', 'summarize-unshared'),
  ],
  extensions: [
    relay({ name: 'AI routes', target: dashboardTarget, estimate: () => CALL_USD }),
    ...usageRecords,
  ],
})
