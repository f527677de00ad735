import type { AllowedDecision, DeniedDecision } from '../decision.ts'
import type { Limiter } from '../limiter.ts'
import type { Subject } from '../subject.ts'
import { InputError } from '../errors.ts'
import { compileRoutes, type Route, type RouteInput } from '../routes.ts'
import { aFunction, knownOptions, oneOf } from '../validate.ts'
import { negotiatedFormat } from './accept.ts'
import { DENIAL_FORMATS, tooManyRequests, type DenialFormat } from './body.ts'
import { EXPOSE, exposed, isPreflight } from './cors.ts'
import { rateLimitHeaders, validStyles, type HeaderStyle } from './headers.ts'
import { keepOne, limiterOf, type KeepLimiter, type LimiterSource } from './limiter-source.ts'
import { Refusal, refusalResponse, refuse, UNAUTHENTICATED } from './refusal.ts'

/**
 * Finds out whose request it is; `undefined` or `null` when it is nobody's, a `Refusal` to turn it
 * away with a status of its own.
 */
export type SubjectResolver<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => ResolvedSubject | Promise<ResolvedSubject>

/** What a subject resolver may return. */
export type ResolvedSubject = Subject | Refusal | null | undefined

/** Options of every adapter. */
export interface GuardOptions<Context extends unknown[] = []> {
  /** The routes to limit; a request to any other passes untouched. The most specific one counts. */
  readonly routes: readonly RouteInput[]
  /**
   * Finds out whose request it is. When it finds nobody the request is answered with 401 and nothing
   * is charged. What it throws is not caught.
   */
  readonly subject: SubjectResolver<Context>
  /**
   * A limit on requests that are nobody's, by their address say, so that guessing credentials has a
   * price: such a request is charged here. Where that is spent, every request of that address is
   * answered with 429 before its credentials are looked at, good ones too. Asking costs each request
   * one more round trip to this limiter's store.
   */
  readonly unauthenticated?: {
    readonly limiter: LimiterSource<Context>
    readonly subject: SubjectResolver<Context>
  }
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

const OPTIONS = ['routes', 'subject', 'unauthenticated', 'headers', 'format', 'onDenied']

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
  as(route: Route, request: Request, ...context: Context): Promise<GuardOutcome>
}

/**
 * What all adapters have in common: match the route, find the subject, check, and make the response
 * to a denial. An adapter only supplies the request and applies the outcome. CORS preflights pass,
 * uncharged: no handler may run the model for them.
 *
 * @param keep How a limiter that a function makes is kept. @default the first one, for good
 * @throws ConfigError When an option is unknown, missing or malformed.
 */
export function createGuard<Context extends unknown[]>(
  limiter: LimiterSource<Context>,
  options: GuardOptions<Context>,
  keep: KeepLimiter<Context> = keepOne,
): Guard<Context> {
  knownOptions('rateLimit', options, OPTIONS)
  const { unauthenticated } = options
  const match = compileRoutes(options.routes)
  const resolve = aFunction('subject', options.subject)
  const onDenied = options.onDenied && aFunction('onDenied', options.onDenied)
  const styles = validStyles('headers', options.headers)
  if (options.format !== undefined) oneOf('format', options.format, DENIAL_FORMATS)
  if (unauthenticated) knownOptions('unauthenticated', unauthenticated, ['limiter', 'subject'])
  const limiterFor = limiterOf('limiter', limiter, keep)
  const anonymous = unauthenticated && {
    limiterFor: limiterOf('unauthenticated.limiter', unauthenticated.limiter, keep),
    resolve: aFunction('unauthenticated.subject', unauthenticated.subject),
  }

  async function as(route: Route, request: Request, ...context: Context): Promise<GuardOutcome> {
    if (isPreflight(request)) return { kind: 'pass' }
    const format = options.format ?? negotiatedFormat(request)
    const stranger = await anonymous?.resolve(request, ...context)
    const asStranger = async (verb: 'check' | 'peek'): Promise<GuardOutcome | undefined> => {
      if (!anonymous || !stranger || stranger instanceof Refusal) return undefined
      const asked = anonymous.limiterFor(...context)
      const outcome = await ask(asked, verb, stranger, route, format, request)
      if (outcome.kind === 'deny') return { kind: 'refuse', response: outcome.response() }
      return outcome.kind === 'refuse' ? outcome : undefined
    }
    // Before the credentials are looked at, so that one guess too many finds out nothing.
    const spent = await asStranger('peek')
    if (spent) return spent
    const found = await resolve(request, ...context)
    if (found instanceof Refusal) return refused(found, format)
    if (!found) return (await asStranger('check')) ?? refused(UNAUTHENTICATED, format)
    const outcome = await ask(limiterFor(...context), 'check', found, route, format, request)
    if (outcome.kind !== 'deny') return outcome
    const { decision, headers } = outcome
    const own = await onDenied?.(decision, request, ...context)
    return { kind: 'refuse', response: own ? withHeaders(own, headers) : outcome.response() }
  }

  async function ask(
    asked: Limiter,
    verb: 'check' | 'peek',
    subject: Subject,
    route: Route,
    format: DenialFormat,
    request: Request,
  ) {
    const { cost, id } = route
    let decision
    try {
      decision = await asked[verb]({ ...subject, route: id }, cost === undefined ? {} : { cost })
    } catch (error) {
      // A malformed id comes from the client; a missing dimension is the resolver's mistake.
      if (!(error instanceof InputError) || error.code !== 'invalid_subject') throw error
      return refused(refuse({ status: 400, code: error.code, message: error.message }), format)
    }
    const headers = exposed(rateLimitHeaders(decision, styles), request)
    if (decision.allowed) return { kind: 'allow' as const, decision, route: id, subject, headers }
    const denied = decision
    const response = (): Response =>
      withHeaders(tooManyRequests(denied, { format, headers: false }), headers)
    return { kind: 'deny' as const, decision: denied, headers, response }
  }

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

function refused(refusal: Refusal, format: DenialFormat): GuardOutcome & { kind: 'refuse' } {
  return { kind: 'refuse', response: refusalResponse(refusal, format) }
}

/** The response with headers added; a copy, because those of a fetched response cannot be changed. */
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
