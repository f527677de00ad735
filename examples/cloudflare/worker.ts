import { rateLimit } from '@sluice/cloudflare'
import { createLimiter, slidingWindow } from '@sluice/core'
import { jwtSubject } from '@sluice/core/jwt'
import { upstash } from '@sluice/core/upstash'

interface Env {
  UPSTASH_REDIS_REST_URL: string
  UPSTASH_REDIS_REST_TOKEN: string
  JWT_SECRET: string
}

const limiterFor = (env: Env) =>
  createLimiter({
    store: upstash({ env }),
    policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant', 'route'] })],
  })

const subject = (request: Request, env: Env) =>
  jwtSubject({ secret: env.JWT_SECRET, algorithms: ['HS256'] })(request)

const handle = (): Response => Response.json({ answer: 42 })

export default { fetch: rateLimit(limiterFor, { routes: ['/api/ai/**'], subject }, handle) }
