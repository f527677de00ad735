import { createLimiter, slidingWindow } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { upstash } from '@sluice/core/upstash'

export const limiter = createLimiter({
  store: batched(upstash()), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],
})
