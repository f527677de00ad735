import type { LimiterSource } from './context.ts'
import type { AdapterOptions } from './guard-options.ts'
import { compileRoutes } from '../routes/matcher.ts'
import { assertFunction, assertOptions } from '../internal/validation.ts'
import { createGuard, type GuardHooks } from './guard.ts'
import { withHeaders } from './headers.ts'

/** A handler of the `fetch` shape: a `Request`, whatever the platform adds, and a `Response`. */
export type FetchHandler<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => Response | Promise<Response>

/**
 * Rate limiting in front of any handler of the `fetch` shape: Vercel edge functions, Deno, Bun, tests.
 * A request to one of `routes` is answered here with 401 when it is nobody's and with 429 when a
 * policy is spent; else `handle` answers it, and the limits' headers are added. Bodies are passed on
 * as they are, streams included.
 *
 * @param limiter A limiter, or a function that makes it at the first request (its result is kept).
 * @param hooks What an adapter made of this one adds.
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export default rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt }, handle)
 */
export function rateLimit<Context extends unknown[] = []>(
  limiter: LimiterSource<Context>,
  options: AdapterOptions<Context>,
  handle: FetchHandler<Context>,
  hooks?: GuardHooks<Context>,
): (request: Request, ...context: Context) => Promise<Response> {
  assertOptions('rateLimit', options)
  const { routes, ...guardOptions } = options
  const match = compileRoutes(routes)
  const guard = createGuard(limiter, guardOptions, hooks)
  assertFunction('handle', handle)
  return async (request, ...context) => {
    const route = match(request.method, new URL(request.url).pathname)
    if (route === undefined) return handle(request, ...context)
    const outcome = await guard(route, request, ...context)
    if (outcome.kind === 'refuse') return outcome.response
    const response = await handle(request, ...context)
    return outcome.kind === 'pass' ? response : withHeaders(response, outcome.headers)
  }
}
