import type { AllowedDecision, DeniedDecision } from '../decision.ts'
import type { Limiter } from '../limiter.ts'
import type { Subject } from '../subject.ts'
import { ConfigError, InputError } from '../errors.ts'
import { compileRoutes, type Route, type RouteInput } from '../routes.ts'
import { oneOf } from '../validate.ts'
import { DENIAL_FORMATS, tooManyRequests, type DenialFormat } from './body.ts'
import { rateLimitHeaders, type HeaderStyle } from './headers.ts'
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

/** A limiter, or a function that makes it at the first request; its result is kept. */
export type LimiterSource<Context extends unknown[] = []> =
  Limiter | ((...context: Context) => Limiter)

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
   * price: such a request is charged here, and answered with 429 when that is spent, else with 401.
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
   * `undefined` leaves it at the 429. The limits' headers are added to whatever it returns.
   */
  readonly onDenied?: (
    decision: DeniedDecision,
    request: Request,
    ...context: Context
  ) => Response | undefined | Promise<Response | undefined>
}

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
 * uncharged: no handler runs the model for them.
 *
 * @throws ConfigError When an option is missing or malformed.
 */
export function createGuard<Context extends unknown[]>(
  limiter: LimiterSource<Context>,
  options: GuardOptions<Context>,
): Guard<Context> {
  const { subject: resolve, unauthenticated, headers: styles, onDenied } = options
  const match = compileRoutes(options.routes)
  if (typeof resolve !== 'function') {
    throw new ConfigError('invalid_option', 'subject', 'must be a function of the request')
  }
  if (options.format !== undefined) oneOf('format', options.format, DENIAL_FORMATS)
  const limiterFor = keep(limiter)
  const anonymousLimiterFor = unauthenticated && keep(unauthenticated.limiter)

  async function as(route: Route, request: Request, ...context: Context): Promise<GuardOutcome> {
    if (isPreflight(request)) return { kind: 'pass' }
    const format = options.format ?? negotiate(request)
    const found = await resolve(request, ...context)
    if (found instanceof Refusal)
      return { kind: 'refuse', response: refusalResponse(found, format) }
    if (found) return charge(limiterFor(...context), found, route, format, request, context)
    const anonymous = await unauthenticated?.subject(request, ...context)
    if (anonymousLimiterFor && anonymous && !(anonymous instanceof Refusal)) {
      const asked = anonymousLimiterFor(...context)
      const outcome = await charge(asked, anonymous, route, format, request, context)
      if (outcome.kind === 'refuse') return outcome
    }
    return { kind: 'refuse', response: refusalResponse(UNAUTHENTICATED, format) }
  }

  async function charge(
    asked: Limiter,
    subject: Subject,
    route: Route,
    format: DenialFormat,
    request: Request,
    context: Context,
  ): Promise<GuardOutcome> {
    const { cost, id } = route
    let decision
    try {
      decision = await asked.check({ ...subject, route: id }, cost === undefined ? {} : { cost })
    } catch (error) {
      // A malformed id comes from the client; a missing dimension is the resolver's mistake.
      if (!(error instanceof InputError) || error.code !== 'invalid_subject') throw error
      const refusal = refuse({ status: 400, code: error.code, message: error.message })
      return { kind: 'refuse', response: refusalResponse(refusal, format) }
    }
    const headers = exposed(rateLimitHeaders(decision, styles), request)
    if (decision.allowed) return { kind: 'allow', decision, route: id, subject, headers }
    const own = await onDenied?.(decision, request, ...context)
    const response = own ?? tooManyRequests(decision, { format, headers: styles })
    return { kind: 'refuse', response: withHeaders(response, headers) }
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

/** The response with headers added; a copy, because those of a fetched response cannot be changed. */
export function withHeaders(
  response: Response,
  headers: Readonly<Record<string, string>>,
): Response {
  // A 101 carries a WebSocket, and a copy of it would lose that.
  if (response.status === 101) return response
  const copy = new Response(response.body, response)
  for (const [name, value] of Object.entries(headers)) {
    if (name === EXPOSE) copy.headers.append(name, value)
    else copy.headers.set(name, value)
  }
  return copy
}

const EXPOSE = 'Access-Control-Expose-Headers'

/** Lets a script of another origin read the headers. Whether it may read at all is not ours to say. */
function exposed(headers: Record<string, string>, request: Request): Record<string, string> {
  const names = Object.keys(headers)
  const crossOrigin = request.headers.has('origin') && names.length > 0
  return crossOrigin ? { ...headers, [EXPOSE]: names.join(', ') } : headers
}

function isPreflight({ method, headers }: Request): boolean {
  return (
    method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method')
  )
}

function negotiate(request: Request): DenialFormat {
  const accept = request.headers.get('accept') ?? ''
  return /application\/problem\+json(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(accept)
    ? 'problem'
    : 'default'
}

/** Keeps the limiter that a function makes: one per first argument (a Worker's `env`), or the one. */
function keep<Context extends unknown[]>(
  source: LimiterSource<Context>,
): (...context: Context) => Limiter {
  if (typeof source !== 'function') return () => source
  const byEnv = new WeakMap<object, Limiter>()
  let only: Limiter | undefined
  return (...context) => {
    const [env] = context
    if (typeof env !== 'object' || env === null) return (only ??= source(...context))
    const limiter = byEnv.get(env) ?? source(...context)
    byEnv.set(env, limiter)
    return limiter
  }
}
