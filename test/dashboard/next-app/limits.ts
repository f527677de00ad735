import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { createDashboard } from '@sluice/dashboard'
import { prometheus } from '@sluice/otel/prometheus'

export const dashboard = createDashboard({ name: 'app' })
export const limiter = createLimiter({
  store: upstash({ timeoutMs: 30_000 }),
  policies: [slidingWindow({ name: 'rpm', limit: 60, window: '1h', per: ['tenant'] })],
  extensions: [dashboard.watch({ name: 'api' }), prometheus({ name: 'app' })],
})
