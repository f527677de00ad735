import { rateLimit } from '@sluice/next'
import type { NextFetchEvent, NextRequest } from 'next/server'
import { tenantFromJwt } from './lib/auth/jwt'
import { withContentSecurityPolicy } from './lib/http/content-security-policy'
import { limiter, routes } from './lib/limits/ai-routes'

const limitRate = rateLimit(limiter, { routes, subject: tenantFromJwt })

/** Limits every path except the pages, so that no other spelling of an AI route bypasses the limits. */
export function middleware(request: NextRequest, event: NextFetchEvent) {
  const isPage = !request.nextUrl.pathname.startsWith('/api/')
  return isPage ? withContentSecurityPolicy(request) : limitRate(request, event)
}

export const config = { matcher: ['/api/ai/:path*', '/', '/dashboard', '/overspend'] }
