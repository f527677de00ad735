import type { Cost } from '../cost.ts'
import type { AllowedDecision, Decision, DeniedDecision } from '../decision.ts'
import type { Subject } from '../subject.ts'
import type { DenialFormat } from './body.ts'
import type { GuardOptions } from './guard-options.ts'
import { ConfigError, InputError } from '../errors.ts'
import { compileRoutes, TOO_LONG, validCost, type Route } from '../routes/matcher.ts'
import { aFunction, knownOptions, oneOf } from '../validate.ts'
import { negotiatedFormat } from './accept.ts'
import { DENIAL_FORMATS, tooManyRequests } from './body.ts'
import { EXPOSE, exposed, isPreflight } from './cors.ts'
import { GUARD_OPTIONS } from './guard-options.ts'
import { rateLimitHeaders, validStyles } from './headers.ts'
import { hold, validMaxDelay } from './hold.ts'
import { keepOne, limiterOf, type KeepLimiter, type LimiterSource } from './limiter-source.ts'
import { Refusal, refusalResponse, refuse, UNAUTHENTICATED } from './refusal.ts'
import { waitUntilOf } from './wait-until.ts'

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

/** Decides what to do with a request, before its handler runs. */
export interface Guard<Context extends unknown[] = []> {
  /** By the route that the path matches. */
  (request: Request, pathname: string, ...context: Context): Promise<GuardOutcome>
  /** As a request to a given route, whatever its path. */
  as(route: Route<Context>, request: Request, ...context: Context): Promise<GuardOutcome>
}

/**
 * What all adapters have in common: match the route, find the subject, check, hold what is to be
 * delayed, and make the response to a denial. An adapter only supplies the request and applies the
 * outcome. The `waitUntil` of the last thing in the context, where it has one, lets the limiter's work
 * outlast the response.
 *
 * @param keep How a limiter that a function makes is kept. @default the first one, for good
 * @throws ConfigError When an option is unknown, missing or malformed.
 */
export function createGuard<Context extends unknown[]>(
  limiter: LimiterSource<Context>,
  options: GuardOptions<Context>,
  keep: KeepLimiter<Context> = keepOne,
): Guard<Context> {
  knownOptions('rateLimit', options, GUARD_OPTIONS)
  const { unauthenticated } = options
  const match = compileRoutes(options.routes)
  const resolve = aFunction('subject', options.subject)
  validCost('cost', options.cost)
  const maxDelayMs = validMaxDelay('maxDelayMs', options.maxDelayMs)
  const onDenied = options.onDenied && aFunction('onDenied', options.onDenied)
  const styles = validStyles('headers', options.headers)
  if (options.format !== undefined) oneOf('format', options.format, DENIAL_FORMATS)
  oneOf('preflight', options.preflight ?? 'limit', ['limit', 'pass'])
  if (unauthenticated && !('charge' in unauthenticated)) {
    throw new ConfigError('invalid_option', 'unauthenticated', 'must be made by `limitGuesses`')
  }
  const limiterFor = limiterOf('limiter', limiter, keep)
  const guessesFor = limiterOf('unauthenticated.limiter', unauthenticated?.limiter ?? limiter, keep)

  async function as(
    route: Route<Context>,
    request: Request,
    ...context: Context
  ): Promise<GuardOutcome> {
    if (options.preflight === 'pass' && (await isPreflight(request))) return { kind: 'pass' }
    const format = options.format ?? negotiatedFormat(request)
    if (route === TOO_LONG) return refused(PATH_TOO_LONG, format)
    const background = waitUntilOf(context)
    const denial = (decision: DeniedDecision): Response => {
      const response = tooManyRequests(decision, { format, headers: false })
      return withHeaders(response, headersOf(decision, request))
    }

    // Before the credentials are looked at, so that one guess too many finds out nothing.
    const suspect = await unauthenticated?.subject(request, ...context)
    const guess =
      suspect && !(suspect instanceof Refusal)
        ? await orRefusal(
            route.id,
            unauthenticated?.charge(
              guessesFor(...context),
              { ...suspect, route: route.id },
              background,
            ),
          )
        : undefined
    if (guess instanceof Refusal) return refused(guess, format)
    if (guess && !guess.decision.allowed) return respond(denial(guess.decision))
    const found = await resolve(request, ...context)
    const subject = found ?? UNAUTHENTICATED
    // One who is refused for anything but credentials has not guessed.
    const isGuess = subject instanceof Refusal && subject.options.status === 401
    const returned = isGuess ? undefined : guess?.giveBack()
    const pending = returned && background.waitUntil ? background.waitUntil(returned) : returned
    if (subject instanceof Refusal) {
      await pending
      return refused(subject, format)
    }

    const cost = await costOf(route, request, context)
    const decision = await orRefusal(
      route.id,
      limiterFor(...context).check({ ...subject, route: route.id }, { ...background, cost }),
    )
    await pending
    if (decision instanceof Refusal) return refused(decision, format)
    const headers = headersOf(decision, request)
    if (!decision.allowed) {
      const own = await onDenied?.(decision, request, ...context)
      return respond(own ? withHeaders(own, headers) : denial(decision))
    }
    const delayMs = Math.min(maxDelayMs, decision.delayMs)
    // The client is gone: nobody reads the answer, and no handler runs.
    if (delayMs > 0 && !(await hold(delayMs, request.signal))) {
      return respond(new Response(null, { status: 499 }))
    }
    return { kind: 'allow', decision, headers, route: route.id, subject }
  }

  /** What the request costs. A function that returns nothing must not cost less than it meant to. */
  async function costOf(route: Route<Context>, request: Request, context: Context): Promise<Cost> {
    const cost = route.cost ?? options.cost ?? 1
    if (typeof cost !== 'function') return cost
    const found: Cost | undefined = await cost(request, ...context)
    if (found !== undefined) return found
    throw onRoute(new InputError('invalid_cost', 'cost', 'must not be undefined'), route.id)
  }

  const headersOf = (decision: Decision, request: Request) =>
    exposed(rateLimitHeaders(decision, styles), request)

  const guard = async (
    request: Request,
    pathname: string,
    ...context: Context
  ): Promise<GuardOutcome> => {
    const route = match(request.method, pathname)
    return route === undefined ? { kind: 'pass' } : as(route, request, ...context)
  }
  return Object.assign(guard, { as })
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

function refused(refusal: Refusal, format: DenialFormat): GuardOutcome {
  return respond(refusalResponse(refusal, format))
}

/**
 * The response with headers added; a copy, because those of a fetched response cannot be changed.
 *
 * @example
 * return withHeaders(await fetch(upstream), rateLimitHeaders(decision))
 */
export function withHeaders(
  response: Response,
  headers: Readonly<Record<string, string>>,
): Response {
  // A 101 carries a WebSocket, and a copy of it would lose that; of a network error there is none.
  if (response.status === 101 || response.status === 0) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(headers)) {
    if (name === EXPOSE) copy.headers.append(name, value)
    else copy.headers.set(name, value)
  }
  return copy
}
