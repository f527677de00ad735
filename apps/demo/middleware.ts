import { rateLimit } from '@sluice/next'
import type { NextFetchEvent, NextRequest } from 'next/server'
import { tenantFromJwt } from './lib/auth/jwt'
import { withPagePolicy } from './lib/http/page-policy'
import { getLimiter, routes } from './lib/limits/ai-routes'

const limited = rateLimit(getLimiter, { routes, subject: tenantFromJwt })

/** Limits every path but the page, so that no other spelling of an AI route gets past. */
export function middleware(request: NextRequest, event: NextFetchEvent) {
  return request.nextUrl.pathname === '/' ? withPagePolicy(request) : limited(request, event)
}

export const config = { matcher: ['/api/ai/:path*', '/'] }
