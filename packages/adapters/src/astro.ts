import { createGuard, respond, type AllowOutcome, type LimiterSource } from '@sluice/core/http'
import type { APIContext, MiddlewareHandler } from 'astro'
import { splitRoutes, type RoutesLimitOptions } from './internal/routes-option.ts'

/** The values that functions of the options get beside the request. */
export type AstroContext = [context: APIContext]

/** Options of `rateLimit`. */
export type RateLimitOptions = RoutesLimitOptions<AstroContext>

/**
 * Limits the requests to an Astro app that are rendered on demand. A request is answered with 401 if it
 * has no subject and with 429 if a policy denies it. Any other goes on, and its response carries the
 * limits' headers. Requests are counted by `routes`, or by the pattern of the route that Astro has matched.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export const onRequest = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })
 */
export function rateLimit(
  limiter: LimiterSource<AstroContext>,
  options: RateLimitOptions,
): MiddlewareHandler {
  const { findRoute, guardOptions } = splitRoutes(options)
  const guard = createGuard(limiter, guardOptions)
  // Astro runs the middleware a second time for its error page.
  const charged = new WeakMap<Request, AllowOutcome>()
  return async (context, next) => {
    const { request, routePattern, isPrerendered } = context
    const before = charged.get(request)
    if (before) return respond({ ...before, call: undefined }, () => next())
    // A page that the build renders is nobody's request.
    const route = isPrerendered ? undefined : findRoute(request, routePattern)
    const outcome = route ? await guard(route, request, context) : undefined
    if (outcome?.kind === 'refuse') return outcome.response
    if (outcome?.kind !== 'allow') return next()
    charged.set(request, outcome)
    return respond(outcome, () => next())
  }
}
