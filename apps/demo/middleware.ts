import { rateLimit } from '@sluice/next'
import type { NextFetchEvent, NextRequest } from 'next/server'
import { tenantFromJwt } from './auth'
import { withPagePolicy } from './lib/page-policy'
import { getLimiter, routes } from './limits'

const limited = rateLimit(getLimiter, { routes, subject: tenantFromJwt })

/** Limits every path but the page, so that no other spelling of an AI route gets past. */
export function middleware(request: NextRequest, event: NextFetchEvent) {
  return request.nextUrl.pathname === '/' ? withPagePolicy(request) : limited(request, event)
}

export const config = { matcher: ['/api/ai/:path*', '/'] }
