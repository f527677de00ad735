import type { DeniedDecision } from '../decision.ts'
import type { RouteCost, RouteInput } from '../routes/matcher.ts'
import type { DenialFormat } from './format.ts'
import type { GuessLimit } from './guess-limit.ts'
import type { HeaderStyle } from './headers.ts'
import type { SubjectResolver } from './subject-resolver.ts'

/** Options of every adapter. */
export interface AdapterOptions<Context extends unknown[] = []> extends GuardOptions<Context> {
  /** The routes to limit; a request to any other passes untouched. The most specific one counts. */
  readonly routes: readonly RouteInput<Context>[]
}

/** Options of a guard. */
export interface GuardOptions<Context extends unknown[] = []> {
  /**
   * Finds out whose request it is. When it finds nobody the request is answered with 401 and nothing
   * is charged. What it throws is not caught.
   */
  readonly subject: SubjectResolver<Context>
  /** What a request costs on a route without a `cost` of its own. @default 1 request */
  readonly cost?: RouteCost<Context>
  /**
   * How long an allowed request is held at most, in milliseconds, when its decision asks for a delay
   * (`delayMs`: a leaky bucket's turn, or backpressure). After that it goes on, early: the limit holds
   * all the same, only the spacing does not. 0 never holds, and leaves it to you. A request whose
   * client goes away meanwhile stays charged; it is answered with a bodiless 499 that nobody reads.
   *
   * @default 30_000
   */
  readonly maxDelayMs?: number
  /**
   * A limit on guessing credentials: `limitGuesses(guesses, addressSubject({ from: 'vercel' }))`. It
   * costs each request one more round trip, and one in the background when its credentials are good.
   *
   * @default none
   */
  readonly unauthenticated?: GuessLimit<Context> | undefined
  /**
   * What a CORS preflight is. `limit`: a request like any other, answered with 401 when it is nobody's
   * and charged. `pass`: let through uncharged, unless it has a body or credentials. Choose `pass` only
   * where `OPTIONS` is answered without running the model: a handler that does not look at the method
   * would run it for nothing.
   *
   * @default 'limit'
   */
  readonly preflight?: 'limit' | 'pass'
  /** Which headers to send, as in `rateLimitHeaders`. @default ['x-ratelimit', 'draft'] */
  readonly headers?: readonly HeaderStyle[] | false
  /**
   * The shape of the bodies of denials and refusals.
   *
   * @default 'problem' for a client that accepts `application/problem+json`, else 'default'
   */
  readonly format?: DenialFormat
  /**
   * Answers a denied request in place of the bare 429: with something cached or simplified, say.
   * `undefined` leaves it at the 429. The limits' headers are added to whatever it returns. Not asked
   * about requests that are nobody's. What it throws is not caught.
   */
  readonly onDenied?: (
    decision: DeniedDecision,
    request: Request,
    ...context: Context
  ) => Response | undefined | Promise<Response | undefined>
}

/** The names of the options. */
export const GUARD_OPTIONS: readonly string[] = [
  'subject',
  'cost',
  'maxDelayMs',
  'unauthenticated',
  'preflight',
  'headers',
  'format',
  'onDenied',
]
