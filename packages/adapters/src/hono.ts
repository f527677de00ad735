import { createGuard, respond, type LimiterSource } from '@sluice/core/http'
import type { Context, Env, ExecutionContext, MiddlewareHandler } from 'hono'
import { matchedRoutes, routePath } from 'hono/route'
import {
  closeWithClient,
  type MaybeNodeRequest,
  type MaybeWaitingResponse,
} from './internal/close-with-client.ts'
import { splitRoute, type RouteLimitOptions } from './internal/route-option.ts'

/** The values that functions of the options get beside the request. */
export type HonoContext<E extends Env = Env> = [
  context: Context<E>,
  executionContext: ExecutionContext | undefined,
]

/** Options of `rateLimit`. `route` is the path of the handler by default. */
export type RateLimitOptions<E extends Env = Env> = RouteLimitOptions<HonoContext<E>>

/**
 * Limits the requests to routes of a Hono app. A request is answered with 401 if it has no subject and
 * with 429 if a policy denies it. Any other goes on, and its response carries the limits' headers.
 * Requests are counted by the path of the handler that Hono has matched, or of the middleware if there
 * is only an `all`.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * app.use('/api/ai/*', rateLimit(limiter, { subject: tenantFromJwt }))
 */
export function rateLimit<E extends Env = Env>(
  limiter: LimiterSource<HonoContext<E>>,
  options: RateLimitOptions<E>,
): MiddlewareHandler<E> {
  const { route, guardOptions } = splitRoute(options)
  const guard = createGuard(limiter, guardOptions)
  const executionContextOf = executionContextFinder()
  return async (context, next) => {
    const id = route ?? handlerPath(context)
    const executionContext = executionContextOf(context)
    const { incoming, outgoing } = nodeBindingsOf(context)
    closeWithClient(incoming, outgoing)
    const outcome = await guard({ id, cost: undefined }, context.req.raw, context, executionContext)
    if (outcome.kind === 'refuse') return outcome.response
    if (outcome.kind === 'pass') return next()
    const response = await respond(outcome, async () => {
      await next()
      return context.res
    })
    // Otherwise Hono would copy the headers of the old response over those of the new one.
    context.res = undefined
    context.res = response
    return undefined
  }
}

/** Returns the path of the first handler for a method: what `use` and `all` register is for all. */
function handlerPath(context: Context): string {
  const handler = matchedRoutes(context).find(({ method }) => method !== 'ALL')
  return handler?.path ?? routePath(context)
}

/**
 * Returns a function that finds the context which keeps background work running. Where there is none, Hono
 * throws, which is slow. So it is asked once on a server of Node.js.
 */
function executionContextFinder(): (context: Context) => ExecutionContext | undefined {
  let isMissingInNode = false
  return (context) => {
    const isInNode = nodeBindingsOf(context).incoming !== undefined
    if (isInNode && isMissingInNode) return undefined
    try {
      return context.executionCtx
    } catch {
      isMissingInNode ||= isInNode
      return undefined
    }
  }
}

/** Bindings that servers of Node.js pass to every request. No other platform has them. */
interface NodeBindings {
  readonly incoming?: MaybeNodeRequest
  readonly outgoing?: MaybeWaitingResponse
}

const nodeBindingsOf = ({ env }: Context): NodeBindings => (env as NodeBindings | undefined) ?? {}
