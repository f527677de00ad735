import type { LimiterSource } from './guard/context.ts'
import type { AdapterOptions, GuardHooks } from './guard/guard-options.ts'
import { compileRoutes } from '../routes/matcher.ts'
import { assertFunction, assertOptions } from '../internal/validation.ts'
import { createGuard, respond } from './guard/guard.ts'

/** A handler of the `fetch` shape: takes a `Request` and what the platform adds, returns a `Response`. */
export type FetchHandler<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => Response | Promise<Response>

/**
 * `Context`, from which TypeScript infers it last: the handler's parameters decide before a subject resolver
 * that takes the request alone.
 */
type Same<Context extends unknown[]> = Context extends unknown[] ? Context : never

/**
 * Limits the requests to a handler of the `fetch` shape: Vercel edge functions, Deno, Bun, tests. A
 * request to one of `routes` is answered with 401 if it has no subject and with 429 if a policy denies
 * it. Any other goes to `handle`, and the limits' headers are added to its response. Bodies pass
 * through unread, streams included. The handler may take any further arguments; the resolvers and the
 * limiter's function get them, too.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @param hooks Additions of an adapter that is made of this one.
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export default rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt }, handle)
 */
export function rateLimit<Context extends unknown[] = []>(
  limiter: LimiterSource<Same<Context>>,
  options: AdapterOptions<Same<Context>>,
  handle: FetchHandler<Context>,
  hooks?: GuardHooks<Same<Context>>,
): (request: Request, ...context: Context) => Promise<Response>
export function rateLimit<Context extends unknown[] = []>(
  limiter: LimiterSource<Context>,
  options: AdapterOptions<Context>,
  handle: FetchHandler<Context>,
  hooks?: GuardHooks<Context>,
): (request: Request, ...context: Context) => Promise<Response>
export function rateLimit<Context extends unknown[]>(
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
    const run = () => handle(request, ...context)
    return outcome.kind === 'pass' ? run() : respond(outcome, run)
  }
}
