import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { rateLimit } from '@sluice/next'

const limiter = createLimiter({
  store: upstash({ timeoutMs: 10_000 }),
  policies: [slidingWindow({ name: 'hour', limit: 1_000_000, window: '1h', per: ['tenant'] })],
})

export const proxy = rateLimit(limiter, {
  routes: ['/api/ai/**'],
  subject: (request) => ({ tenant: request.headers.get('x-tenant') ?? '' }),
})

export const config = { matcher: ['/api/ai/:path*'] }
