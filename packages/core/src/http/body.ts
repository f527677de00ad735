import type { DeniedDecision } from '../decision.ts'
import { errorResponse, type DenialFormat, type ErrorFacts } from './format.ts'
import { enforcedOf, rateLimitHeaders, retryAfterSeconds, type HeaderStyle } from './headers.ts'

/** How `tooManyRequests` answers. */
export interface DenialOptions {
  /** The shape of the body. @default 'default' */
  readonly format?: DenialFormat | undefined
  /** The headers, as in `rateLimitHeaders`. @default ['x-ratelimit', 'draft'] */
  readonly headers?: readonly HeaderStyle[] | false | undefined
}

/** The JSON body of a denial, in the default format. */
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

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#'

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

/**
 * The response to a denial: 429, or 503 when the store failed and the limiter is set to deny then.
 *
 * @example
 * const decision = await limiter.check({ tenant: 'acme', route: 'evaluate' })
 * if (!decision.allowed) return tooManyRequests(decision)
 */
export function tooManyRequests(decision: DeniedDecision, options: DenialOptions = {}): Response {
  const { error: code, message: text, ...details } = denialBody(decision)
  const { reason, violated } = decision
  const isFault = reason === 'store_unavailable'
  const isQuota = reason === 'daily_quota_exceeded' || reason === 'monthly_quota_exceeded'
  // OpenAI names the unit of a rate; a spent quota has a type of its own, which its clients know not
  // to retry.
  const rate = violated && { type: `${violated.unit}s` }
  const facts: ErrorFacts = {
    status: isFault ? 503 : 429,
    code,
    message: text,
    details,
    problem: {
      type: PROBLEM_TYPES + (isFault ? 'temporary-reduced-capacity' : 'quota-exceeded'),
      title: isFault ? 'Temporary reduced capacity' : 'Quota exceeded',
      'violated-policies': enforcedOf(decision)
        .filter(({ fits }) => !fits)
        .map(({ name }) => name),
    },
    openai: isQuota ? { type: 'insufficient_quota', code: 'insufficient_quota' } : { ...rate },
  }
  return errorResponse(facts, options.format, rateLimitHeaders(decision, options.headers))
}

/** Units as a reader knows them; money is counted in millionths. */
function amount(units: number, unit: string): string {
  if (unit === 'usd') return `$${units / 1_000_000}`
  return `${units} ${unit}${units === 1 ? '' : 's'}`
}

function message({ reason, violated }: DeniedDecision, retryAfter: number | null): string {
  if (violated === undefined) return `Rate limiting is unavailable. Retry in ${retryAfter} s.`
  const { burst, unit, name, cost } = violated
  const limited = `the limit of ${amount(burst, unit)} of policy "${name}"`
  if (reason === 'cost_exceeds_limit') {
    const asked = unit === 'usd' ? amount(cost, unit) : cost
    // Of a policy with `stripes`, a part that is smaller than its limit has to hold it.
    return cost > burst
      ? `A cost of ${asked} is above ${limited}.`
      : `A cost of ${asked} is more than policy "${name}" can count at once.`
  }
  const what = {
    rate_limit_exceeded: 'Rate limit',
    daily_quota_exceeded: 'Daily quota',
    monthly_quota_exceeded: 'Monthly quota',
    concurrency_exceeded: 'Concurrency limit',
    store_unavailable: 'Limit',
  }[reason]
  return `${what} exceeded: ${limited} is used up. Retry in ${retryAfter} s.`
}
