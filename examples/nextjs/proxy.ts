import { rateLimit } from '@sluice/next'
import { tenantFromJwt } from './auth'
import { limiter } from './limits'

export const proxy = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })
export const config = { matcher: ['/api/ai/:path*'] }
