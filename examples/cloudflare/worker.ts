import { env } from 'cloudflare:workers'
import { rateLimit } from '@sluice/cloudflare'
import { jwtSubject } from '@sluice/core/jwt'
import { limiter } from './limits'

const subject = jwtSubject({
  secret: () => env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})

const handle = (): Response => Response.json({ answer: 42 })

export default { fetch: rateLimit(limiter, { routes: ['/api/ai/**'], subject }, handle) }
