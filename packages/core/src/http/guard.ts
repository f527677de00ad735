import type { Decision } from '../decision.ts'
import type { Limiter } from '../limiter.ts'
import type { RouteInput, RouteMatcher } from '../routes.ts'
import type { Subject } from '../subject.ts'
import { ConfigError, InputError } from '../errors.ts'
import { compileRoutes } from '../routes.ts'
import { tooManyRequests } from './body.ts'

/** Finds out whose request it is; `undefined` or `null` when it is nobody's. */
export type SubjectResolver<Context extends unknown[] = []> = (
  request: Request,
  ...context: Context
) => Subject | null | undefined | Promise<Subject | null | undefined>

/** Options of every adapter. */
export interface GuardOptions<Context extends unknown[] = []> {
  /** The routes to limit; a request to any other passes untouched. */
  readonly routes: readonly RouteInput[]
  /**
   * Finds out whose request it is. When it finds nobody the request is answered with 401 and nothing
   * is charged. What it throws is not caught.
   */
  readonly subject: SubjectResolver<Context>
}

/** What to do with a request. */
export type GuardOutcome =
  | { readonly kind: 'pass' }
  | { readonly kind: 'refuse'; readonly response: Response }
  | { readonly kind: 'allow'; readonly decision: Decision & { readonly allowed: true } }

/** Decides what to do with a request, before its handler runs. */
export type Guard<Context extends unknown[] = []> = (
  limiter: Limiter,
  request: Request,
  pathname: string,
  ...context: Context
) => Promise<GuardOutcome>

/**
 * What all adapters have in common: match the route, find the subject, check, and make the response
 * to a denial. An adapter only supplies the request and applies the outcome.
 *
 * @throws ConfigError When an option is missing or malformed.
 */
export function createGuard<Context extends unknown[]>(
  options: GuardOptions<Context>,
): Guard<Context> {
  const match: RouteMatcher = compileRoutes(options.routes)
  if (typeof options.subject !== 'function') {
    throw new ConfigError('invalid_option', 'subject', 'must be a function of the request')
  }
  return async (limiter, request, pathname, ...context) => {
    const route = match(request.method, pathname)
    if (route === undefined) return { kind: 'pass' }
    const subject = await options.subject(request, ...context)
    if (subject === null || subject === undefined) return refuse(unauthenticated())
    const { cost } = route
    try {
      const decision = await limiter.check(
        { ...subject, route: route.id },
        cost === undefined ? {} : { cost },
      )
      return decision.allowed ? { kind: 'allow', decision } : refuse(tooManyRequests(decision))
    } catch (error) {
      // A malformed id comes from the client; a missing dimension is the resolver's mistake.
      if (!(error instanceof InputError) || error.code !== 'invalid_subject') throw error
      return refuse(Response.json({ error: error.code, message: error.message }, { status: 400 }))
    }
  }
}

const refuse = (response: Response): GuardOutcome => ({ kind: 'refuse', response })

function unauthenticated(): Response {
  return Response.json(
    { error: 'unauthenticated', message: 'This route needs credentials.' },
    { status: 401, headers: { 'WWW-Authenticate': 'Bearer', 'Cache-Control': 'no-store' } },
  )
}
