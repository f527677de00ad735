import type { Cost } from '../cost.ts'
import type { AllowedDecision, Decision, DeniedDecision } from '../decision.ts'
import type { Subject } from '../subject.ts'
import type { GuardOptions } from './guard-options.ts'
import { ConfigError, InputError } from '../errors.ts'
import { TOO_LONG, validCost, type Route } from '../routes/matcher.ts'
import { assertFunction, assertKnownOptions, assertOneOf } from '../internal/validation.ts'
import { tooManyRequests } from './body.ts'
import { keepOne, limiterOf, waitUntilOf, type KeepLimiter, type LimiterSource } from './context.ts'
import { DENIAL_FORMATS, negotiatedFormat } from './format.ts'
import { GUARD_OPTIONS } from './guard-options.ts'
import { exposed, rateLimitHeaders, validStyles, withHeaders } from './headers.ts'
import { hold, assertMaxDelay } from './hold.ts'
import { isPreflight } from './preflight.ts'
import { Refusal, refusalResponse, refuse, UNAUTHENTICATED } from './refusal.ts'

/** What to do with a request. */
export type GuardOutcome =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly response: Response }
  | {
      readonly kind: 'allow'
      readonly decision: AllowedDecision
      readonly route: string
      readonly subject: Subject
      /** What to add to the response. */
      readonly headers: Readonly<Record<string, string>>
    }

/** Decides what to do with a request to a route, before its handler runs. */
export type Guard<Context extends unknown[] = []> = (
  route: Route<Context>,
  request: Request,
  ...context: Context
) => Promise<GuardOutcome>

/** What an adapter adds to a guard. */
export interface GuardHooks<Context extends unknown[] = []> {
  /** Keeps a limiter that a function makes. @default the first one, for good */
  readonly keep?: KeepLimiter<Context> | undefined
  /** Refuses a request of somebody before the limiter is asked. @default none */
  readonly before?:
    ((subject: Subject, ...context: Context) => Promise<Refusal | undefined>) | undefined
}

/**
 * What all adapters have in common once the route is found: find the subject, check, hold what is to
 * be delayed, and make the response to a denial. An adapter only supplies the request and applies the
 * outcome. The `waitUntil` of the last thing in the context, where it has one, lets the limiter's work
 * outlast the response.
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
  { keep = keepOne, before }: GuardHooks<Context> = {},
): Guard<Context> {
  assertKnownOptions('rateLimit', options, GUARD_OPTIONS)
  const { unauthenticated } = options
  const resolve = assertFunction('subject', options.subject)
  validCost('cost', options.cost)
  const maxDelayMs = assertMaxDelay('maxDelayMs', options.maxDelayMs)
  const { onDenied } = options
  if (onDenied !== undefined) assertFunction('onDenied', onDenied)
  const styles = validStyles('headers', options.headers)
  if (options.format !== undefined) assertOneOf('format', options.format, DENIAL_FORMATS)
  assertOneOf('preflight', options.preflight ?? 'limit', ['limit', 'pass'])
  if (unauthenticated !== undefined && typeof unauthenticated?.charge !== 'function') {
    throw new ConfigError('invalid_option', 'unauthenticated', 'must be made by `limitGuesses`')
  }
  const limiterFor = limiterOf('limiter', limiter, keep)
  const guessesFor = limiterOf(
    'unauthenticated.limiter',
    unauthenticated ? unauthenticated.limiter : limiter,
    keep,
  )

  /** What the request costs. A function that returns nothing must not cost less than it meant to. */
  async function costOf(route: Route<Context>, request: Request, context: Context): Promise<Cost> {
    const cost = route.cost ?? options.cost ?? 1
    if (typeof cost !== 'function') return cost
    const found: Cost | undefined = await cost(request, ...context)
    if (found !== undefined) return found
    throw onRoute(new InputError('invalid_cost', 'cost', 'must not be undefined'), route.id)
  }

  const formatFor = (request: Request) => options.format ?? negotiatedFormat(request)
  const headersOf = (decision: Decision, request: Request) =>
    exposed(rateLimitHeaders(decision, styles), request)
  const refused = (refusal: Refusal, request: Request) =>
    respond(refusalResponse(refusal, formatFor(request)))
  const denied = (decision: DeniedDecision, request: Request) => {
    const response = tooManyRequests(decision, { format: formatFor(request), headers: false })
    return respond(withHeaders(response, headersOf(decision, request)))
  }

  return async (route, request, ...context) => {
    if (options.preflight === 'pass' && (await isPreflight(request))) return { kind: 'pass' }
    if (route === TOO_LONG) return refused(PATH_TOO_LONG, request)
    const { id } = route
    const background = waitUntilOf(context)

    // Before the credentials are looked at, so that one guess too many finds out nothing.
    const suspect = await unauthenticated?.subject(request, ...context)
    const charge =
      suspect && !(suspect instanceof Refusal)
        ? unauthenticated?.charge(guessesFor(...context), { ...suspect, route: id }, background)
        : undefined
    const guess = await orRefusal(id, charge)
    if (guess instanceof Refusal) return refused(guess, request)
    if (guess && !guess.decision.allowed) return denied(guess.decision, request)

    const found = (await resolve(request, ...context)) || UNAUTHENTICATED
    // One who is refused for anything but credentials has not guessed.
    const isGuess = found instanceof Refusal && found.options.status === 401
    const returned = isGuess ? undefined : guess?.giveBack()
    const pending = returned && background.waitUntil ? background.waitUntil(returned) : returned
    const early =
      found instanceof Refusal ? found : await before?.({ ...found, route: id }, ...context)
    const subject = early ?? found
    if (subject instanceof Refusal) {
      await pending
      return refused(subject, request)
    }

    const cost = await costOf(route, request, context)
    const check = limiterFor(...context).check({ ...subject, route: id }, { ...background, cost })
    const decision = await orRefusal(id, check)
    await pending
    if (decision instanceof Refusal) return refused(decision, request)
    const headers = headersOf(decision, request)
    if (!decision.allowed) {
      const own = await onDenied?.(decision, request, ...context)
      return own ? respond(withHeaders(own, headers)) : denied(decision, request)
    }
    const delayMs = Math.min(maxDelayMs, decision.delayMs)
    // The client is gone: nobody reads the answer, and no handler runs.
    if (delayMs > 0 && !(await hold(delayMs, request.signal))) {
      return respond(new Response(null, { status: 499 }))
    }
    return { kind: 'allow', decision, headers, route: id, subject }
  }
}

const PATH_TOO_LONG = /* @__PURE__ */ refuse({
  status: 414,
  code: 'path_too_long',
  message: 'The path of this request is longer than 16,384 characters.',
})

/** Names the route whose cost is malformed. */
function onRoute({ input, message }: InputError, route: string): InputError {
  const what = message.slice(`${input}: `.length)
  return new InputError('invalid_cost', input, `${what}, on the route "${route}"`)
}

/** The result of `decide`, or a refusal when a client's id cannot be counted. */
async function orRefusal<T>(route: string, decide: T | Promise<T>): Promise<T | Refusal> {
  try {
    return await decide
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    if (error.code === 'invalid_cost') throw onRoute(error, route)
    // A malformed id comes from the client; a missing dimension is the resolver's mistake.
    if (error.code !== 'invalid_subject') throw error
    return refuse({ status: 400, code: error.code, message: error.message })
  }
}

function respond(response: Response): GuardOutcome {
  return { kind: 'refuse', response }
}
