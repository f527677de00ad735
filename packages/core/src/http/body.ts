import type { DeniedDecision } from '../decision.ts'
import { enforcedOf, rateLimitHeaders, retryAfterSeconds, type HeaderStyle } from './headers.ts'

/**
 * The shape of a denial's body:
 *
 * - `default`: `{ error, message, policy, scope, retryAfter, resetAt }`;
 * - `nested`: `{ error: { code, message, policy, scope, retryAfter, resetAt } }`;
 * - `problem`: `application/problem+json` (RFC 9457) with the problem types of
 *   draft-ietf-httpapi-ratelimit-headers-11;
 * - `openai`: `{ error: { message, type, param, code } }`, as OpenAI's API answers.
 */
export type DenialFormat = 'default' | 'nested' | 'problem' | 'openai'

/** The names of the formats. */
export const DENIAL_FORMATS: readonly DenialFormat[] = ['default', 'nested', 'problem', 'openai']

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
  const status = statusOf(decision)
  const { format = 'default' } = options
  const headers = new Headers(rateLimitHeaders(decision, options.headers))
  headers.set('Cache-Control', 'no-store')
  if (format === 'problem') headers.set('Content-Type', 'application/problem+json')
  return Response.json(BODIES[format](decision), { status, headers })
}

const BODIES: Readonly<Record<DenialFormat, (decision: DeniedDecision) => object>> = {
  problem,
  default: denialBody,
  nested: (decision) => {
    const { error, ...rest } = denialBody(decision)
    return { error: { code: error, ...rest } }
  },
  openai: (decision) => ({
    error: {
      message: denialBody(decision).message,
      // OpenAI names the unit of a rate; a spent quota has a type of its own, which its clients know
      // not to retry.
      type: isQuota(decision) ? 'insufficient_quota' : openAiType(decision),
      param: null,
      code: isQuota(decision) ? 'insufficient_quota' : decision.reason,
    },
  }),
}

function openAiType({ violated }: DeniedDecision): string {
  return violated === undefined ? 'server_error' : `${violated.unit}s`
}

function isQuota({ reason }: DeniedDecision): boolean {
  return reason === 'daily_quota_exceeded' || reason === 'monthly_quota_exceeded'
}

function statusOf({ reason }: DeniedDecision): number {
  return reason === 'store_unavailable' ? 503 : 429
}

function problem(decision: DeniedDecision): object {
  const { message: detail, error, ...rest } = denialBody(decision)
  const fault = decision.reason === 'store_unavailable'
  return {
    type: PROBLEM_TYPES + (fault ? 'temporary-reduced-capacity' : 'quota-exceeded'),
    title: fault ? 'Temporary reduced capacity' : 'Quota exceeded',
    status: statusOf(decision),
    detail,
    'violated-policies': enforcedOf(decision)
      .filter(({ fits }) => !fits)
      .map(({ name }) => name),
    code: error,
    ...rest,
  }
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
    // Of a policy with `shards`, a part that is smaller than its limit has to hold it.
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
