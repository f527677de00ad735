import type { Limiter } from '@sluice/core'
import { createGuard, rateLimitHeaders, type GuardOptions } from '@sluice/core/http'

/** A Worker's `fetch` handler. */
export type FetchHandler<Env, Context = ExecutionContext> = (
  request: Request,
  env: Env,
  ctx: Context,
) => Response | Promise<Response>

/** Makes the limiter for a Worker's bindings. Called once per `env` object; the result is kept. */
export type LimiterFor<Env> = (env: Env) => Limiter

/** Options of `rateLimit`: the routes to limit, and whose request it is. */
export type RateLimitOptions<Env> = GuardOptions<[env: Env]>

/**
 * Rate limiting in front of a Worker's `fetch` handler. A request to one of `routes` is answered here
 * with 401 when it is nobody's and with 429 when a policy is spent; else `handle` answers it, and the
 * limits' headers are added. Bodies are passed on as they are, streams included.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export default { fetch: rateLimit(limiterFor, { routes: ['/api/ai/**'], subject }, handle) }
 */
export function rateLimit<Env extends object, Context = ExecutionContext>(
  limiterFor: LimiterFor<Env>,
  options: RateLimitOptions<Env>,
  handle: FetchHandler<Env, Context>,
): FetchHandler<Env, Context> {
  const guard = createGuard(options)
  const limiters = new WeakMap<Env, Limiter>()
  return async (request, env, ctx) => {
    const limiter = limiters.get(env) ?? limiterFor(env)
    limiters.set(env, limiter)
    const outcome = await guard(limiter, request, new URL(request.url).pathname, env)
    if (outcome.kind === 'refuse') return outcome.response
    const response = await handle(request, env, ctx)
    return outcome.kind === 'pass'
      ? response
      : withHeaders(response, rateLimitHeaders(outcome.decision))
  }
}

/** The response with headers added; a copy, because those of a fetched response cannot be changed. */
function withHeaders(response: Response, headers: Readonly<Record<string, string>>): Response {
  // A 101 carries a WebSocket, and a copy of it would lose that.
  if (response.status === 101) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(headers)) copy.headers.set(name, value)
  return copy
}
