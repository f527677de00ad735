import { rateLimit } from '@sluice/adapters/react-router'
import { tenantFromJwt } from '../auth'
import { limiter } from '../limits'

/** Limits the routes in this one. */
export const middleware = [rateLimit(limiter, { subject: tenantFromJwt })]
