import { rateLimit } from '@sluice/adapters/astro'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

export const onRequest = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })
