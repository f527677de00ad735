import type { DeniedDecision } from '../../decision.ts'
import { localTimeText, unitsText } from '../../internal/text.ts'
import { errorResponse, type DenialFormat, type ErrorFacts } from './format.ts'
import {
  enforcedPolicies,
  rateLimitHeaders,
  wholeSeconds,
  type HeaderStyle,
} from '../headers/headers.ts'

/** The answer to a denial by a used-up budget: a quota of the calendar, or credits. */
export interface SpentOptions {
  /**
   * The status of a denial by a used-up budget of a day, week, month or year, or by credits: 429, or 402 (Payment
   * Required), which asks the client to pay instead of to wait. @default 429
   */
  readonly spentStatus?: 402 | 429 | undefined
}

/** Options of `tooManyRequests`. */
export interface DenialOptions extends SpentOptions {
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
  /** The address at which credits are bought, if the denying policy names it. */
  readonly topUpUrl?: string | undefined
}

/** Returns the body of a denial in the default format. It contains no id of anyone. */
export function denialBody(decision: DeniedDecision): DenialBody {
  const { reason, violated, retryAfterMs, at } = decision
  const retryAfter = retryAfterMs === null ? null : wholeSeconds(retryAfterMs)
  return {
    error: reason,
    message: message(decision, retryAfter),
    policy: violated?.name ?? null,
    scope: violated?.scope ?? null,
    retryAfter,
    resetAt: retryAfterMs === null ? null : Math.ceil((at + retryAfterMs) / 1000),
    resetsAt: violated?.resetsAt,
    topUpUrl: violated?.topUpUrl,
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
  const status = violated ? (isSpent(reason) && options.spentStatus) || 429 : 503
  const facts: ErrorFacts = {
    status,
    code,
    message: text,
    details,
    problem: {
      type: `https://iana.org/assignments/http-problem-types#${violated ? 'quota-exceeded' : 'temporary-reduced-capacity'}`,
      title: violated ? 'Quota exceeded' : 'Temporary reduced capacity',
      'violated-policies': enforcedPolicies(decision)
        .filter(({ fits }) => !fits)
        .map(({ name }) => name),
    },
    // OpenAI's type is the unit of a rate; a used-up quota has a type that its clients do not retry.
    openai: isSpent(reason)
      ? { type: 'insufficient_quota', code: 'insufficient_quota' }
      : violated && { type: violated.unit === 'usd' ? 'usd' : `${violated.unit}s` },
  }
  return errorResponse(facts, options.format, rateLimitHeaders(decision, options.headers, status))
}

const isSpent = (reason: string): boolean => /quota|credits/.test(reason)

/** Returns a sentence with the numbers of the headers: those of the policy that denies, and the time. */
function message(
  { reason, violated, retryAfterMs, at }: DeniedDecision,
  retryAfter: number | null,
): string {
  let end = retryAfter === null ? '. It never fits.' : `. Retry in ${retryAfter} s.`
  if (!violated) return `Rate limiting is unavailable${end}`
  const { burst, unit, name, cost, remaining, resetMs, resetsAt, topUpUrl } = violated
  const isMoney = unit === 'usd'
  const units = (count: number) => unitsText(count, unit)
  // A lot of credits may begin before the period ends.
  const time =
    resetsAt && Number(retryAfterMs) >= resetMs
      ? localTimeText(resetsAt)
      : new Date(at + Number(retryAfterMs)).toUTCString().slice(5)
  // The units are of the first that denies, the time is of the one that denies for the longest.
  if (violated.retryAfterMs !== retryAfterMs) end = `. Another limit denies for longer${end}`
  // A quota ends at a time of the calendar, unless nobody knows it. Credits may have no end.
  else if (isSpent(reason) && retryAfterMs !== 0) end = retryAfterMs ? ` until ${time}.` : '.'
  if (reason === 'concurrency_exceeded') end = `; more is held by calls in flight${end}`
  if (topUpUrl) end += ` Top up at ${topUpUrl}`
  // A balance is no part of a limit.
  const most = reason === 'credits_exhausted' ? '' : ` of ${units(burst)}`
  return `This call may cost ${units(cost)}; ${units(remaining)}${most}${isMoney ? '' : ` ${unit}s`} of policy "${name}" ${isMoney ? 'is' : 'are'} left${end}`
}
