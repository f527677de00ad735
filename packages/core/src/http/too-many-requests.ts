import type { DeniedDecision } from '../decision.ts'
import { errorResponse, type DenialFormat, type ErrorFacts } from './format.ts'
import {
  enforcedPolicies,
  rateLimitHeaders,
  retryAfterSeconds,
  type HeaderStyle,
} from './headers.ts'

/** Options of `tooManyRequests`. */
export interface DenialOptions {
  /** The shape of the body. @default 'default' */
  readonly format?: DenialFormat | undefined
  /** The headers, as in `rateLimitHeaders`. @default ['x-ratelimit', 'draft'] */
  readonly headers?: readonly HeaderStyle[] | false | undefined
}

/** The JSON body of a denial, in the default format. */
export interface DenialBody {
  /** The reason, such as `rate_limit_exceeded` or `daily_quota_exceeded`. */
  readonly error: string
  readonly message: string
  /** The policy that denied; `null` when the store failed. */
  readonly policy: string | null
  /** The dimensions whose budget is used up, such as `tenant`; `null` when the store failed. */
  readonly scope: string | null
  /** Seconds to wait, rounded up; `null` if the cost can never fit. */
  readonly retryAfter: number | null
  /** Time from which the request fits, in epoch seconds, rounded up; `null` if it never can. */
  readonly resetAt: number | null
}

const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#'

/** Returns the body of a denial in the default format. It contains no id of anyone. */
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
 * Creates the response to a denial: 429, or 503 when the store failed and the limiter denies then.
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
  // OpenAI's type is the unit of a rate; a used-up quota has a type that its clients do not retry.
  const rate = violated && { type: violated.unit === 'usd' ? 'usd' : `${violated.unit}s` }
  const facts: ErrorFacts = {
    status: isFault ? 503 : 429,
    code,
    message: text,
    details,
    problem: {
      type: PROBLEM_TYPES + (isFault ? 'temporary-reduced-capacity' : 'quota-exceeded'),
      title: isFault ? 'Temporary reduced capacity' : 'Quota exceeded',
      'violated-policies': enforcedPolicies(decision)
        .filter(({ fits }) => !fits)
        .map(({ name }) => name),
    },
    openai: isQuota ? { type: 'insufficient_quota', code: 'insufficient_quota' } : { ...rate },
  }
  return errorResponse(facts, options.format, rateLimitHeaders(decision, options.headers))
}

/** Writes units for a reader; money is counted in millionths of a dollar. */
function amount(units: number, unit: string): string {
  if (unit === 'usd') return `$${units / 1_000_000}`
  return `${units} ${unit}${units === 1 ? '' : 's'}`
}

function message({ reason, violated }: DeniedDecision, retryAfter: number | null): string {
  if (violated === undefined) return `Rate limiting is unavailable. Retry in ${retryAfter} s.`
  const { burst, unit, name, cost } = violated
  const limited = `the limit of ${amount(burst, unit)} of policy "${name}"`
  if (reason === 'cost_exceeds_limit') {
    const units = unit === 'usd' ? amount(cost, unit) : cost
    // In a policy with `stripes` the cost has to fit one stripe, which is smaller than the limit.
    return cost > burst
      ? `A cost of ${units} is above ${limited}.`
      : `A cost of ${units} is more than policy "${name}" can count at once.`
  }
  const budget = {
    rate_limit_exceeded: 'Rate limit',
    daily_quota_exceeded: 'Daily quota',
    monthly_quota_exceeded: 'Monthly quota',
    concurrency_exceeded: 'Concurrency limit',
    store_unavailable: 'Limit',
  }[reason]
  return `${budget} exceeded: ${limited} is used up. Retry in ${retryAfter} s.`
}
