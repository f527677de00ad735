import { createGuard, respond, type LimiterSource } from '@sluice/core/http'
import { toResponse, type H3Event, type Middleware } from 'h3'
import { closeWithClient } from './internal/close-with-client.ts'
import { splitRoutes, type RoutesLimitOptions } from './internal/routes-option.ts'

/** The values that functions of the options get beside the request. */
export type H3Context = [event: H3Event]

/** Options of `rateLimit`. */
export type RateLimitOptions = RoutesLimitOptions<H3Context>

/** The id that requests are counted under if no handler is registered for them. */
const UNMATCHED = 'unmatched'

/**
 * Limits the requests to an H3 app, or to an app of a framework on H3 2, such as Nitro. A request is
 * answered with 401 if it has no subject and with 429 if a policy denies it. Any other goes on, and its
 * response carries the limits' headers. Requests are counted by the route that H3 has matched, or by
 * `routes`.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * app.use('/api/ai/**', rateLimit(limiter, { subject: tenantFromJwt }))
 */
export function rateLimit(
  limiter: LimiterSource<H3Context>,
  options: RateLimitOptions,
): Middleware {
  const { findRoute, guardOptions } = splitRoutes(options)
  const guard = createGuard(limiter, guardOptions)
  return async (event, next) => {
    const { req, res, context, app } = event
    const route = findRoute(req, context.matchedRoute?.route ?? UNMATCHED)
    if (route) closeWithClient(event.runtime?.node?.req, event.runtime?.node?.res)
    const outcome = route ? await guard(route, req, event) : undefined
    if (outcome?.kind === 'refuse') return outcome.response
    if (outcome?.kind !== 'allow') return next()
    // The app calls its own `onResponse` later, with what this returns.
    const { onResponse: _, ...config } = app?.config ?? {}
    try {
      return await respond(outcome, async () => toResponse(await next(), event, config))
    } catch (error) {
      for (const [name, value] of Object.entries(outcome.headers)) res.errHeaders.set(name, value)
      throw error
    }
  }
}
