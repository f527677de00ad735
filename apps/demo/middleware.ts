import { rateLimit } from '@sluice/next'
import { tenantFromJwt } from './auth'
import { getLimiter, routes } from './limits'

export const middleware = rateLimit(getLimiter, { routes, subject: tenantFromJwt })

export const config = { matcher: ['/api/ai/:path*'] }
