import type { GuardOptions } from './guard-options.ts'
import type { KeepLimiter, LimiterSource } from './limiter-source.ts'
import { aFunction } from '../validate.ts'
import { createGuard, withHeaders } from './guard.ts'

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
 * @param keep How such a limiter is kept. @default the first one, for good
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export default rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt }, handle)
 */
export function rateLimit<Context extends unknown[] = []>(
  limiter: LimiterSource<Context>,
  options: GuardOptions<Context>,
  handle: FetchHandler<Context>,
  keep?: KeepLimiter<Context>,
): (request: Request, ...context: Context) => Promise<Response> {
  const guard = createGuard(limiter, options, keep)
  aFunction('handle', handle)
  return async (request, ...context) => {
    const outcome = await guard(request, new URL(request.url).pathname, ...context)
    if (outcome.kind === 'refuse') return outcome.response
    const response = await handle(request, ...context)
    return outcome.kind === 'pass' ? response : withHeaders(response, outcome.headers)
  }
}
