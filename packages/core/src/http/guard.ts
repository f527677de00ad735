import type { Cost } from '../cost.ts'
import type { AllowedDecision } from '../decision.ts'
import type { CheckOptions } from '../limiter/call.ts'
import type { Subject } from '../subject.ts'
import type { Guess, GuessLimit } from './guess-limit.ts'
import { InputError } from '../errors.ts'
import { TOO_LONG_ROUTE, type Route, type RouteCost } from '../routes/matcher.ts'
import {
  keepFirst,
  limiterFrom,
  waitUntilOf,
  type KeepLimiter,
  type LimiterSource,
} from './context.ts'
import { delay } from './delay.ts'
import { resolveGuardOptions, type GuardOptions } from './guard-options.ts'
import { denyRequest, headersOf, refuseRequest } from './guard-responses.ts'
import { withHeaders } from './headers.ts'
import { isPreflight } from './preflight.ts'
import { Refusal, refuse, UNAUTHENTICATED } from './refusal.ts'

/**
 * The result of a guard. `pass` lets the request through uncharged, `refuse` answers it with
 * `response`, and `allow` runs the handler and adds `headers` to its response.
 */
export type GuardOutcome =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly response: Response }
  | {
      readonly kind: 'allow'
      readonly decision: AllowedDecision
      readonly route: string
      readonly subject: Subject
      /** Headers to add to the response. */
      readonly headers: Readonly<Record<string, string>>
    }

/** Decides what to do with a request to a route, before its handler runs. */
export type Guard<Context extends unknown[] = []> = (
  route: Route<Context>,
  request: Request,
  ...context: Context
) => Promise<GuardOutcome>

/** Additions of an adapter to a guard. */
export interface GuardHooks<Context extends unknown[] = []> {
  /** Keeps a limiter that a function makes. @default the first one, for good */
  readonly keep?: KeepLimiter<Context> | undefined
  /** Refuses a request whose subject is known, before the limits are checked. @default none */
  readonly before?:
    ((subject: Subject, ...context: Context) => Promise<Refusal | undefined>) | undefined
}

/**
 * Creates the part that all adapters share; start here to write one. An adapter finds the route of a
 * request, calls the guard, and applies the outcome. The guard works in stages: charge the guess limit,
 * find the subject, run the pre-filter, find the cost, check the limits, delay the request.
 *
 * If the last value of the context has a `waitUntil`, background work may outlast the response.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const match = compileRoutes(['/api/ai/**'])
 * const guard = createGuard(limiter, { subject: tenantFromJwt })
 * const route = match(request.method, new URL(request.url).pathname)
 * const outcome = route && (await guard(route, request))
 */
export function createGuard<Context extends unknown[]>(
  limiter: LimiterSource<Context>,
  options: GuardOptions<Context>,
  { keep = keepFirst, before }: GuardHooks<Context> = {},
): Guard<Context> {
  const settings = resolveGuardOptions(options)
  const { subject: findSubject, onDenied, maxDelayMs } = settings
  const limiterFor = limiterFrom('limiter', limiter, keep)
  const chargeGuess = guessCharger(settings.unauthenticated, keep)

  return async (route, request, ...context) => {
    if (settings.preflight === 'pass' && (await isPreflight(request))) return { kind: 'pass' }
    if (route === TOO_LONG_ROUTE) return refuseRequest(PATH_TOO_LONG, request, settings)
    const { id } = route
    const background = waitUntilOf(context)

    // Before the credentials are checked, so that a guess beyond the limit learns nothing.
    const guess = await chargeGuess?.(id, request, context, background)
    if (guess instanceof Refusal) return refuseRequest(guess, request, settings)
    if (guess && !guess.decision.allowed) return denyRequest(guess.decision, request, settings)

    const resolved = (await findSubject(request, ...context)) || UNAUTHENTICATED
    const refund = guess && refundGuess(guess, resolved, background)
    const subject =
      (resolved instanceof Refusal
        ? resolved
        : await before?.({ ...resolved, route: id }, ...context)) ?? resolved
    if (subject instanceof Refusal) {
      await refund
      return refuseRequest(subject, request, settings)
    }

    const cost = await costOf(route.cost ?? settings.cost ?? 1, id, request, context)
    const check = limiterFor(...context).check({ ...subject, route: id }, { ...background, cost })
    const decision = await orRefusal(id, check)
    await refund
    if (decision instanceof Refusal) return refuseRequest(decision, request, settings)
    const headers = headersOf(decision, request, settings)
    if (!decision.allowed) {
      const fallback = await onDenied?.(decision, request, ...context)
      if (!fallback) return denyRequest(decision, request, settings)
      return { kind: 'refuse', response: withHeaders(fallback, headers) }
    }

    const delayMs = Math.min(maxDelayMs, decision.delayMs)
    // The client is gone: nobody reads the answer, and no handler runs.
    if (delayMs > 0 && !(await delay(delayMs, request.signal))) {
      return { kind: 'refuse', response: new Response(null, { status: 499 }) }
    }
    return { kind: 'allow', decision, headers, route: id, subject }
  }
}

const PATH_TOO_LONG = /* @__PURE__ */ refuse({
  status: 414,
  code: 'path_too_long',
  message: 'The path of this request is longer than 16,384 characters.',
})

type Background = Pick<CheckOptions, 'waitUntil'>

/** Creates the stage that charges a request as a guess; `undefined` without a guess limit. */
function guessCharger<Context extends unknown[]>(
  limit: GuessLimit<Context> | undefined,
  keep: KeepLimiter<Context>,
) {
  if (limit === undefined) return undefined
  const limiterFor = limiterFrom('unauthenticated.limiter', limit.limiter, keep)
  return async (
    route: string,
    request: Request,
    context: Context,
    background: Background,
  ): Promise<Guess | Refusal | undefined> => {
    const subject = await limit.subject(request, ...context)
    if (!subject || subject instanceof Refusal) return undefined
    return orRefusal(route, limit.charge(limiterFor(...context), { ...subject, route }, background))
  }
}

/**
 * Gives the charge back unless the credentials were wrong. Other refusals are not guesses. Without
 * `waitUntil`, returns a promise to await before the response.
 */
function refundGuess(
  guess: Guess,
  resolved: Subject | Refusal,
  { waitUntil }: Background,
): Promise<unknown> | void {
  if (resolved instanceof Refusal && resolved.options.status === 401) return undefined
  const refund = guess.giveBack()
  return waitUntil ? waitUntil(refund) : refund
}

/** Returns the cost of a request. @throws InputError When a function returns `undefined`. */
async function costOf<Context extends unknown[]>(
  cost: RouteCost<Context>,
  route: string,
  request: Request,
  context: Context,
): Promise<Cost> {
  if (typeof cost !== 'function') return cost
  const units: Cost | undefined = await cost(request, ...context)
  // Otherwise a function that forgets to return would be charged 1 request.
  if (units !== undefined) return units
  throw costError('cost', 'must not be undefined', route)
}

/** Resolves to the result of `decide`, or to a refusal when a client's id cannot be counted. */
async function orRefusal<T>(route: string, decide: Promise<T>): Promise<T | Refusal> {
  try {
    return await decide
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    if (error.code === 'invalid_cost') throw costError(error.input, error.reason, route)
    // A malformed id comes from the client; a missing dimension is the resolver's mistake.
    if (error.code !== 'invalid_subject') throw error
    return refuse({ status: 400, code: error.code, message: error.message })
  }
}

function costError(input: string, reason: string, route: string): InputError {
  return new InputError('invalid_cost', input, `${reason}, on the route "${route}"`)
}
