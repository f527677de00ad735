import type { DeniedDecision } from '../../decision.ts'
import type { WaitUntil } from '../../internal/background.ts'
import type { Subject } from '../../subject.ts'
import type { KeepLimiter } from './context.ts'
import type { GuessLimit } from '../guess-limit.ts'
import type { Refusal } from '../answers/refusal.ts'
import type { SubjectResolver } from './subject-resolver.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertOneOf,
  invalidOption,
  type OptionRule,
  type OptionRules,
} from '../../internal/validation.ts'
import { assertRouteCost, type RouteCost, type RouteInput } from '../../routes/matcher.ts'
import { assertMaxDelay } from './delay.ts'
import type { SpentOptions } from '../answers/too-many-requests.ts'
import { DENIAL_FORMATS, type DenialFormat } from '../answers/format.ts'
import { assertHeaderStyles, type HeaderStyle } from '../headers/headers.ts'

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
> extends SpentOptions {
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
   * Next.js. Its errors are logged. @default the `waitUntil` of the last value of the context, if it has one
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

type StageOption =
  'subject' | 'maxDelayMs' | 'unauthenticated' | 'preflight' | 'headers' | 'onDenied' | 'waitUntil'

/** The options of guards that `modelHandler` has, too. */
export type StageOptions<
  Context extends unknown[],
  PlatformRequest extends Request = Request,
> = Pick<GuardOptions<Context, PlatformRequest>, StageOption>

/** The rules of these options. */
export const STAGE_RULES: Readonly<Record<StageOption, OptionRule>> = {
  subject: assertFunction,
  maxDelayMs: assertMaxDelay,
  unauthenticated(option, value) {
    if (typeof (value as Partial<GuessLimit> | null)?.around === 'function') return
    throw invalidOption(option, 'must be created by limitGuesses', value)
  },
  preflight: (option, value) => assertOneOf(option, value, ['limit', 'pass']),
  headers: assertHeaderStyles,
  onDenied: assertFunction,
  waitUntil: assertFunction,
}

const RULES: OptionRules<GuardOptions> = {
  ...STAGE_RULES,
  cost: assertRouteCost,
  format: (option, value) => assertOneOf(option, value, DENIAL_FORMATS),
  spentStatus: (option, value) => assertOneOf(option, value, [402, 429]),
}

/** Validates the options of a guard. @throws ConfigError When one is unknown, missing or malformed. */
export function assertGuardOptions(options: object): void {
  assertKnownOptions('rateLimit', options, Object.keys(RULES))
  for (const [name, rule] of Object.entries(RULES)) {
    const value = (options as Readonly<Record<string, unknown>>)[name]
    if (value !== undefined || name === 'subject') rule(name, value)
  }
}
