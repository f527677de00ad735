import type { Prefilter } from './prefilter.ts'
import {
  rateLimit as fetchRateLimit,
  type AdapterOptions,
  type FetchHandler,
  type SubjectResolver,
} from '@sluice/core/http'
import { assertFunction, assertOptions } from '@sluice/core/validation'
import { perEnv, type LimiterFor } from './per-env.ts'

/** A Worker's `fetch` handler. */
export type WorkerHandler<Env> = FetchHandler<[env: Env, ctx: ExecutionContext]>

/** Options of `rateLimit`. */
export interface RateLimitOptions<Env> extends AdapterOptions<[env: Env, ctx: ExecutionContext]> {
  /**
   * A cheap limit that is asked once it is known whose request it is, and before the limiter:
   * `limitByBinding({ … })`.
   *
   * @default none
   */
  readonly prefilter?: Prefilter<Env> | undefined
}

/**
 * Rate limiting in front of a Worker's `fetch` handler. A request to one of `routes` is answered here
 * with 401 when it is nobody's and with 429 when a policy is spent; else `handle` answers it, and the
 * limits' headers are added. Bodies are passed on as they are, streams included. Requests in one
 * isolate share plain data only, never a promise.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export default { fetch: rateLimit(limiterFor, { routes: ['/api/ai/**'], subject }, handle) }
 */
export function rateLimit<Env extends object>(
  limiterFor: LimiterFor<Env>,
  options: RateLimitOptions<Env>,
  handle: WorkerHandler<Env>,
): (request: Request, env: Env, ctx: ExecutionContext) => Promise<Response> {
  assertOptions('rateLimit', options)
  const { prefilter, ...guardOptions } = options
  const before = prefilter && assertFunction('prefilter', prefilter)
  assertFunction('limiterFor', limiterFor)
  return fetchRateLimit<[Env, ExecutionContext]>(limiterFor, guardOptions, handle, {
    keep: perEnv,
    before,
  })
}

/** Finds out whose request it is, with the Worker's bindings at hand. */
export type WorkerSubjectResolver<Env> = SubjectResolver<[env: Env, ctx: ExecutionContext]>
