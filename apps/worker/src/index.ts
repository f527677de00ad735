import { rateLimit } from '@sluice/cloudflare'
import { tenantFromJwt } from './auth.ts'
import type { Env } from './env.ts'
import { limiterFor, routes } from './limits.ts'
import { forward } from './upstream.ts'

export default {
  fetch: rateLimit(limiterFor, { routes, subject: tenantFromJwt }, forward),
} satisfies ExportedHandler<Env>
