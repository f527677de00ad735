import { rateLimit } from '@sluice/next'
import { limiter } from './limits'

export const proxy = rateLimit(limiter, {
  routes: ['/api/ai/**'],
  subject: () => ({ tenant: 'acme' }),
})

export const config = { matcher: ['/api/ai/:path*'] }
