import type { DeniedDecision } from '../decision.ts'
import { rateLimitHeaders, retryAfterSeconds } from './headers.ts'

/** The JSON body of a denial. */
export interface DenialBody {
  /** Why, such as `rate_limit_exceeded` or `daily_quota_exceeded`. */
  readonly error: string
  readonly message: string
  /** The policy that bound; `null` when the store failed. */
  readonly policy: string | null
  /** Whose budget is spent; `null` when the store failed. */
  readonly scope: string | null
  /** Seconds to wait, rounded up; `null` when waiting does not help. */
  readonly retryAfter: number | null
  /** When to come back, in epoch seconds, rounded up; `null` when waiting does not help. */
  readonly resetAt: number | null
}

/** The body that tells a client about a denial. Holds no id of anyone. */
export function denialBody(decision: DeniedDecision): DenialBody {
  const { reason, violated, retryAfterMs, at } = decision
  const retryAfter = retryAfterMs === null ? null : retryAfterSeconds(retryAfterMs)
  return {
    error: reason,
    message: message(decision, retryAfter),
    policy: violated?.name ?? null,
    scope: violated?.scope ?? null,
    retryAfter,
    resetAt: retryAfterMs === null ? null : Math.ceil((at + retryAfterMs) / 1000),
  }
}

function message({ reason, violated }: DeniedDecision, retryAfter: number | null): string {
  if (violated === undefined) return `Rate limiting is unavailable. Retry in ${retryAfter} s.`
  const { limit, unit, name, cost } = violated
  const limited = `the limit of ${limit} ${unit}${limit === 1 ? '' : 's'} of policy "${name}"`
  if (reason === 'cost_exceeds_limit') return `A cost of ${cost} is above ${limited}.`
  const what = {
    rate_limit_exceeded: 'Rate limit',
    daily_quota_exceeded: 'Daily quota',
    monthly_quota_exceeded: 'Monthly quota',
    store_unavailable: 'Limit',
  }[reason]
  return `${what} exceeded: ${limited} is used up. Retry in ${retryAfter} s.`
}

/**
 * The response to a denial: 429, or 503 when the store failed and the limiter is set to deny then.
 *
 * @example
 * const decision = await limiter.check({ tenant: 'acme', route: 'evaluate' })
 * if (!decision.allowed) return tooManyRequests(decision)
 */
export function tooManyRequests(decision: DeniedDecision): Response {
  const status = decision.reason === 'store_unavailable' ? 503 : 429
  return Response.json(denialBody(decision), {
    status,
    headers: { ...rateLimitHeaders(decision), 'Cache-Control': 'no-store' },
  })
}
