import { rateLimit } from '@sluice/core/http'
import { next } from '@vercel/functions/middleware'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

export const config = { matcher: '/api/ai/:path*', runtime: 'nodejs' }

const handle = () => next()

export default rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt }, handle)
