import type { Limiter } from '@sluice/core'
import { createGuard, rateLimitHeaders, type GuardOptions } from '@sluice/core/http'
import { NextResponse, type NextRequest } from 'next/server.js'

/** Options of `rateLimit`: the routes to limit, and whose request it is. */
export type RateLimitOptions = GuardOptions

/** What `middleware.ts` exports as `middleware`, and `proxy.ts` as `proxy`. */
export type Middleware = (request: NextRequest) => Promise<Response>

/**
 * Rate limiting as Next.js middleware (edge) or proxy (Node). A request to one of `routes` is answered
 * here with 401 when it is nobody's and with 429 when a policy is spent; else it goes on, and its
 * response carries the limits' headers. Paths are taken without the app's `basePath`.
 *
 * @param limiter A limiter, or a function that makes it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export const middleware = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })
 * export const config = { matcher: ['/api/ai/:path*'] }
 */
export function rateLimit(
  limiter: Limiter | (() => Limiter),
  options: RateLimitOptions,
): Middleware {
  const guard = createGuard(options)
  let made = typeof limiter === 'function' ? undefined : limiter
  return async (request) => {
    made ??= (limiter as () => Limiter)()
    const outcome = await guard(made, request, request.nextUrl.pathname)
    if (outcome.kind === 'refuse') return outcome.response
    const headers = outcome.kind === 'allow' ? rateLimitHeaders(outcome.decision) : {}
    return NextResponse.next({ headers })
  }
}
