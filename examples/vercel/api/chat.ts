import { rateLimit } from '@sluice/core/http'
import { waitUntil } from '@sluice/core/vercel'
import { tenantFromJwt } from '../auth.ts'
import { limiter } from '../limits.ts'

const handle = () => Response.json({ answer: 42 })
const options = { routes: ['/api/chat'], subject: tenantFromJwt, waitUntil }

export default { fetch: rateLimit(limiter, options, handle) }
