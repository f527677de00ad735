import type { DeniedDecision } from '../decision.ts'
import type { WaitUntil } from '../internal/background.ts'
import type { Subject } from '../subject.ts'
import type { KeepLimiter } from './context.ts'
import type { GuessLimit } from './guess-limit.ts'
import type { Refusal } from './refusal.ts'
import type { SubjectResolver } from './subject-resolver.ts'
import { ConfigError } from '../errors.ts'
import { assertFunction, assertKnownOptions, assertOneOf } from '../internal/validation.ts'
import { assertRouteCost, type RouteCost, type RouteInput } from '../routes/matcher.ts'
import { assertMaxDelay } from './delay.ts'
import { DENIAL_FORMATS, type DenialFormat } from './format.ts'
import { assertHeaderStyles, type HeaderStyle } from './headers.ts'

/** Options of every adapter. */
export interface AdapterOptions<
  Context extends unknown[] = [],
  PlatformRequest extends Request = Request,
> extends GuardOptions<Context, PlatformRequest> {
  /** The routes to limit; a request to any other passes untouched. The most specific route counts. */
  readonly routes: readonly RouteInput<Context, PlatformRequest>[]
}

/** Options of a guard. `PlatformRequest` is the platform's own kind of request, such as `NextRequest`. */
export interface GuardOptions<
  Context extends unknown[] = [],
  PlatformRequest extends Request = Request,
> {
  /**
   * Finds the subject of a request. Without one the request is answered with 401 and not charged. An
   * exception is not caught.
   */
  readonly subject: SubjectResolver<Context, PlatformRequest>
  /**
   * Cost of a request to a route without a `cost` of its own. `reserving(…)` reserves it, to be settled
   * by the handler. @default 1 request
   */
  readonly cost?: RouteCost<Context, PlatformRequest>
  /**
   * The longest time for which an allowed request is delayed, in milliseconds, when its decision asks
   * for a delay (`delayMs`: a turn in a leaky bucket, or backpressure). A longer delay is cut: the
   * request goes on early, and the limit still holds. 0 never delays, and leaves it to you. A request
   * whose client goes away meanwhile stays charged; its response is a 499 without a body, which nobody
   * reads.
   *
   * @default 30_000
   */
  readonly maxDelayMs?: number
  /**
   * A limit on guessing credentials: `limitGuesses(guesses, addressSubject({ from: 'vercel' }))`. It
   * costs each request one more round trip, and another in the background when its credentials are
   * valid.
   *
   * @default none
   */
  readonly unauthenticated?: GuessLimit<Context> | undefined
  /**
   * The treatment of CORS preflights. `limit` treats one as any other request: answered with 401 when
   * it has no subject, else charged. `pass` lets it through uncharged, unless it has a body or
   * credentials. Choose `pass` only if the handler answers `OPTIONS` without running the model: one that
   * ignores the method would run it for free.
   *
   * @default 'limit'
   */
  readonly preflight?: 'limit' | 'pass'
  /** The headers to send, as in `rateLimitHeaders`. @default ['x-ratelimit', 'draft'] */
  readonly headers?: readonly HeaderStyle[] | false
  /**
   * The shape of the bodies of denials and refusals.
   *
   * @default 'problem' for a client that accepts `application/problem+json`, else 'default'
   */
  readonly format?: DenialFormat
  /**
   * Answers a denied request instead of the bare 429, for example with a cached or simplified result.
   * If it returns `undefined` the answer is the 429. The limits' headers are added to its response. Not
   * called for a request without a subject. An exception is not caught.
   */
  readonly onDenied?: (
    decision: DeniedDecision,
    request: PlatformRequest,
    ...context: Context
  ) => Response | undefined | Promise<Response | undefined>
  /**
   * Keeps background work running after the response, on platforms that pass no context: `after` of
   * Next.js. What it throws is logged. @default the `waitUntil` of the last value of the context, if it has one
   */
  readonly waitUntil?: WaitUntil | undefined
}

/** Additions of an adapter to a guard. */
export interface GuardHooks<Context extends unknown[] = []> {
  /** Keeps a limiter that a function makes. @default the first one, for good */
  readonly keep?: KeepLimiter<Context> | undefined
  /** Refuses a request whose subject is known, before the limits are checked. @default none */
  readonly before?:
    ((subject: Subject, ...context: Context) => Promise<Refusal | undefined>) | undefined
  /** True if the requests have been charged already: a refused body costs nothing more. @default false */
  readonly isCharged?: boolean | undefined
}

/** Options of a guard, validated. */
export interface GuardSettings<
  Context extends unknown[],
  PlatformRequest extends Request = Request,
> extends Omit<GuardOptions<Context, PlatformRequest>, 'headers' | 'maxDelayMs'> {
  readonly maxDelayMs: number
  readonly headers: readonly HeaderStyle[] | false | undefined
}

const OPTIONS = [
  'subject',
  'cost',
  'maxDelayMs',
  'unauthenticated',
  'preflight',
  'headers',
  'format',
  'onDenied',
  'waitUntil',
]

/** Validates the options of a guard. @throws ConfigError When one is unknown, missing or malformed. */
export function resolveGuardOptions<Context extends unknown[], PlatformRequest extends Request>(
  options: GuardOptions<Context, PlatformRequest>,
): GuardSettings<Context, PlatformRequest> {
  assertKnownOptions('rateLimit', options, OPTIONS)
  const { unauthenticated, preflight = 'limit', format, onDenied, waitUntil } = options
  assertFunction('subject', options.subject)
  assertRouteCost('cost', options.cost)
  if (onDenied !== undefined) assertFunction('onDenied', onDenied)
  if (waitUntil !== undefined) assertFunction('waitUntil', waitUntil)
  if (format !== undefined) assertOneOf('format', format, DENIAL_FORMATS)
  assertOneOf('preflight', preflight, ['limit', 'pass'])
  if (unauthenticated !== undefined && typeof unauthenticated?.around !== 'function') {
    throw new ConfigError(
      'invalid_option',
      'unauthenticated',
      'must be created by limitGuesses',
      unauthenticated,
    )
  }
  return {
    ...options,
    maxDelayMs: assertMaxDelay('maxDelayMs', options.maxDelayMs),
    headers: assertHeaderStyles('headers', options.headers),
  }
}
