import type { Context, MiddlewareHandler } from 'hono'
import { createGuard, respond, type GuardOptions, type LimiterSource } from '@sluice/core/http'
import { routePath } from 'hono/route'

/**
 * Limits the requests to the routes of a Hono app. A request is answered with 401 if it has no subject
 * and with 429 if a policy denies it. Any other goes on, and its response carries the limits' headers.
 * Requests are counted by the path that the middleware is registered with.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * app.use('/api/ai/*', rateLimit(limiter, { subject: tenantFromJwt }))
 */
export function rateLimit(
  limiter: LimiterSource<[context: Context]>,
  options: GuardOptions<[context: Context]>,
): MiddlewareHandler {
  const guard = createGuard(limiter, options)
  return async (context, next) => {
    const route = { id: routePath(context), cost: undefined }
    const outcome = await guard(route, context.req.raw, context)
    if (outcome.kind === 'refuse') return outcome.response
    if (outcome.kind === 'pass') return next()
    context.res = await respond(outcome, async () => {
      await next()
      return context.res
    })
    return undefined
  }
}
