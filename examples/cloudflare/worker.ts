import { env } from 'cloudflare:workers'
import { rateLimit } from '@sluice/cloudflare'
import { createLimiter, slidingWindow } from '@sluice/core'
import { jwtSubject } from '@sluice/core/jwt'
import { upstash } from '@sluice/core/upstash'

const limiter = createLimiter({
  store: upstash({ env }), // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],
})

const subject = jwtSubject({
  secret: () => env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})

const handle = (): Response => Response.json({ answer: 42 })

export default { fetch: rateLimit(limiter, { routes: ['/api/ai/**'], subject }, handle) }
