import {
  compileRoutes,
  createGuard,
  respond,
  type AdapterOptions,
  type LimiterSource,
} from '@sluice/core/http'
import { assertOptions } from '@sluice/core/internal'
import type { RequestEvent } from '@sveltejs/kit'
import { closeWithClient, type MaybeNodeRequest } from './internal/close-with-client.ts'

/** The values that functions of the options get beside the request. */
export type SvelteKitContext = [event: RequestEvent, platformContext: object | undefined]

/** Options of `rateLimit`. `routes` are matched with the ids of SvelteKit's routes, without groups. */
export type RateLimitOptions = AdapterOptions<SvelteKitContext>

/** The `handle` hook of SvelteKit 2 and 3, which have their own type of it in different modules. */
export type Handle = (input: {
  readonly event: RequestEvent
  readonly resolve: (event: RequestEvent) => Response | Promise<Response>
}) => Promise<Response>

/**
 * Creates a `handle` hook that limits the requests to routes of a SvelteKit app. A request is answered
 * with 401 if it has no subject and with 429 if a policy denies it. Any other is resolved, and its
 * response carries the limits' headers. Remote functions are left alone, because their clients choose
 * the route.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export const handle = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })
 */
export function rateLimit(
  limiter: LimiterSource<SvelteKitContext>,
  options: RateLimitOptions,
): Handle {
  assertOptions('rateLimit', options)
  const { routes, ...guardOptions } = options
  const match = compileRoutes(routes)
  const guard = createGuard(limiter, guardOptions)
  return async ({ event, resolve }) => {
    const path = routePath(event)
    const route = path === undefined ? undefined : match(event.request.method, path)
    if (route === undefined) return resolve(event)
    const outcome = await guard(route, event.request, event, platformContextOf(event))
    if (outcome.kind === 'refuse') return outcome.response
    // SvelteKit passes on no response of Node.js.
    closeWithClient(nodeRequestOf(event), undefined)
    const run = async () => resolve(event)
    return outcome.kind === 'pass' ? run() : respond(outcome, run)
  }
}

/** Returns the id of the route without its groups: `/(app)/api/ai/[model]` is `/api/ai/[model]`. */
function routePath({ route, isRemoteRequest }: RequestEvent): string | undefined {
  if (route.id === null || isRemoteRequest) return undefined
  return route.id.replace(/\/\([^)]*\)/g, '') || '/'
}

/** Returns the context that keeps background work running: Cloudflare's, by its new or its old name. */
function platformContextOf({ platform }: RequestEvent): object | undefined {
  const { ctx, context } = (platform ?? {}) as { readonly ctx?: object; readonly context?: object }
  return ctx ?? context
}

/** Returns the request of Node.js, which `@sveltejs/adapter-node` passes on. */
function nodeRequestOf({ platform }: RequestEvent): MaybeNodeRequest {
  const { req } = (platform ?? {}) as { readonly req?: MaybeNodeRequest }
  return req
}
