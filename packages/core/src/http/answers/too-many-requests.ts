import type { DeniedDecision } from '../../decision.ts'
import { localTimeText, unitsText } from '../../internal/text.ts'
import { errorResponse, type DenialFormat, type ErrorFacts } from './format.ts'
import {
  enforcedPolicies,
  rateLimitHeaders,
  retryAfterSeconds,
  type HeaderStyle,
} from '../headers/headers.ts'

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
  /** The cost of the call, the units left and the time, as in the headers. */
  readonly message: string
  /** The policy that denied; `null` when the store failed. */
  readonly policy: string | null
  /** The dimensions of the budget that denies, such as `tenant`; `null` when the store failed. */
  readonly scope: string | null
  /** Seconds to wait, rounded up; `null` if the cost can never fit. */
  readonly retryAfter: number | null
  /** Time from which the request fits, in epoch seconds, rounded up; `null` if it never can. */
  readonly resetAt: number | null
  /**
   * The end of the denying policy's period as local time with its zone (RFC 9557), if it has a calendar:
   * `2026-12-01T00:00:00+01:00[Europe/Berlin]`.
   */
  readonly resetsAt?: string | undefined
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
    resetsAt: violated?.resetsAt,
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
  const isFault = !violated
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
    openai: isQuota(reason)
      ? { type: 'insufficient_quota', code: 'insufficient_quota' }
      : { ...rate },
  }
  return errorResponse(facts, options.format, rateLimitHeaders(decision, options.headers))
}

const isQuota = (reason: string): boolean => /quota_/.test(reason)

/** Returns a sentence with the numbers of the headers: those of the policy that denies, and the time. */
function message(
  { reason, violated, retryAfterMs, at }: DeniedDecision,
  retryAfter: number | null,
): string {
  let end = retryAfter === null ? '. It never fits.' : `. Retry in ${retryAfter} s.`
  if (!violated) return `Rate limiting is unavailable${end}`
  const { burst, unit, name, cost, remaining, resetsAt } = violated
  const isMoney = unit === 'usd'
  const units = (count: number) => unitsText(count, unit)
  // The units are of the first that denies, the time is of the one that denies for the longest.
  if (violated.retryAfterMs !== retryAfterMs) end = `. Another limit denies for longer${end}`
  // A quota ends at a time of the calendar, unless nobody knows it.
  else if (isQuota(reason) && retryAfterMs)
    end = ` until ${resetsAt ? localTimeText(resetsAt) : new Date(at + retryAfterMs).toUTCString().slice(5)}.`
  if (reason === 'concurrency_exceeded') end = `; more is held by calls in flight${end}`
  return `This call may cost ${units(cost)}; ${units(remaining)} of ${units(burst)}${isMoney ? '' : ` ${unit}s`} of policy "${name}" ${isMoney ? 'is' : 'are'} left${end}`
}
