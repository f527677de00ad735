import type { Limiter } from '@sluice/core'
import type { Prefilter } from './prefilter.ts'
import {
  rateLimit as fetchRateLimit,
  type AdapterOptions,
  type FetchHandler,
  type SubjectResolver,
} from '@sluice/core/http'
import { assertFunction, assertOptions } from '@sluice/core/internal'
import { perEnv, type LimiterFor } from '@sluice/core/internal/http'

/** A Worker's `fetch` handler. */
export type WorkerHandler<Env> = FetchHandler<[env: Env, ctx: ExecutionContext]>

/** Options of `rateLimit`. */
export interface RateLimitOptions<Env> extends AdapterOptions<[env: Env, ctx: ExecutionContext]> {
  /**
   * A cheap limit that is checked after the subject is found and before the limiter:
   * `limitByBinding({ … })`.
   *
   * @default none
   */
  readonly prefilter?: Prefilter<Env> | undefined
}

/**
 * Limits the requests to a Worker's `fetch` handler. A request to one of `routes` is answered with 401
 * if it has no subject and with 429 if a policy denies it. Any other goes to `handle`, and the limits'
 * headers are added to its response. Bodies pass through unread, streams included. Requests in one
 * isolate share plain data only, never a promise.
 *
 * @param limiter A limiter, or a function that creates it for the Worker's bindings.
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export default { fetch: rateLimit(limiterFor, { routes: ['/api/ai/**'], subject }, handle) }
 */
export function rateLimit<Env extends object>(
  limiter: Limiter | LimiterFor<Env>,
  options: RateLimitOptions<Env>,
  handle: WorkerHandler<Env>,
): (request: Request, env: Env, ctx: ExecutionContext) => Promise<Response> {
  assertOptions('rateLimit', options)
  const { prefilter, ...guardOptions } = options
  const before = prefilter && assertFunction('prefilter', prefilter)
  return fetchRateLimit<[Env, ExecutionContext]>(limiter, guardOptions, handle, {
    keep: perEnv,
    before,
  })
}

/** Finds the subject of a request, with the Worker's bindings at hand. */
export type WorkerSubjectResolver<Env> = SubjectResolver<[env: Env, ctx: ExecutionContext]>
