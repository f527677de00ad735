import { rateLimit } from '@sluice/adapters/sveltekit'
import { tenantFromJwt } from './auth.ts'
import { limiter } from './limits.ts'

export const handle = rateLimit(limiter, { routes: ['/api/ai/chat'], subject: tenantFromJwt })
