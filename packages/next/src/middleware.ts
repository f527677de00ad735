import { ConfigError, type AllowedDecision } from '@sluice/core'
import {
  compileRoutes,
  createGuard,
  createHandoff,
  HANDOFF_HEADER,
  withHeaders,
  type AdapterOptions,
  type GuardOutcome,
  type LimiterSource,
} from '@sluice/core/http'
import { assertFunction, assertOptions } from '@sluice/core/validation'
import { NextResponse, type NextFetchEvent, type NextRequest } from 'next/server.js'
import { routePath } from './route-path.ts'

/** Options of `rateLimit`. */
export interface RateLimitOptions extends AdapterOptions<[event: NextFetchEvent | undefined]> {
  /**
   * A secret of at least 32 characters, shared with `withRateLimit`: a handler wrapped by it then does
   * not charge again what was charged here. @default none: each decides by itself
   */
  readonly secret?: string | undefined
  /** The app's locales, if it has `i18n`: a leading one is no part of a route. */
  readonly locales?: readonly string[]
  /**
   * Your own middleware, run for every request that goes on. `decision` is there if the request was
   * charged. Its headers and cookies are kept; the limits' headers are added to its response. A
   * rewrite to another origin is not told of the charge.
   *
   * @default goes on to the route
   */
  readonly next?: (
    request: NextRequest,
    event: NextFetchEvent | undefined,
    decision: AllowedDecision | undefined,
  ) => Response | undefined | null | Promise<Response | undefined | null>
}

/** What `middleware.ts` exports as `middleware`, and `proxy.ts` as `proxy`. */
export type Middleware = (request: NextRequest, event?: NextFetchEvent) => Promise<Response>

/**
 * Rate limiting as Next.js middleware (edge) or proxy (Node). A request to one of `routes` is answered
 * here with 401 when it is nobody's and with 429 when a policy is spent; else it goes on, and its
 * response carries the limits' headers. Paths are taken without the app's `basePath`, locale and data
 * suffixes.
 *
 * @param limiter A limiter, or a function that makes it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export const middleware = rateLimit(limiter, { routes: ['/api/ai/**'], subject: tenantFromJwt })
 * export const config = { matcher: ['/api/ai/:path*'] }
 */
export function rateLimit(
  limiter: LimiterSource<[event: NextFetchEvent | undefined]>,
  options: RateLimitOptions,
): Middleware {
  assertOptions('rateLimit', options)
  const { routes, secret, next, locales = [], ...guardOptions } = options
  const guard = createGuard(limiter, guardOptions)
  if (next !== undefined) assertFunction('next', next)
  if (!Array.isArray(locales) || !locales.every((locale) => typeof locale === 'string')) {
    throw new ConfigError('invalid_option', 'locales', 'must be a list of strings')
  }
  const match = compileRoutes(routes, (path) => routePath(path, locales))
  const handoff = secret === undefined ? undefined : createHandoff(secret)

  /** The request's headers with proof of the charge, and without a client's own claim to one. */
  async function handedOn(request: NextRequest, outcome: GuardOutcome): Promise<Headers> {
    const headers = new Headers(request.headers)
    headers.delete(HANDOFF_HEADER)
    if (handoff && outcome.kind === 'allow') {
      const { route, subject } = outcome
      const { method, nextUrl } = request
      // The route sees this path, whatever the request is rewritten to.
      const terms = { method, route, path: nextUrl.pathname, subject }
      headers.set(HANDOFF_HEADER, await handoff.sign(terms))
    }
    return headers
  }

  /** The response of the user's own middleware, with what the route is to know if it goes there. */
  async function answer(
    own: Response | undefined | null,
    request: NextRequest,
    outcome: GuardOutcome,
  ): Promise<Response> {
    if (own && !staysInApp(own, request)) return own
    const goesOn = NextResponse.next({ request: { headers: await handedOn(request, outcome) } })
    return own ? withRequestHeaders(own, goesOn) : goesOn
  }

  return async (request, event) => {
    const route = match(request.method, request.nextUrl.pathname)
    const outcome = route ? await guard(route, request, event) : PASS
    if (outcome.kind === 'refuse') return outcome.response
    const decision = outcome.kind === 'allow' ? outcome.decision : undefined
    const own = await next?.(request, event, decision)
    const response = await answer(own, request, outcome)
    return outcome.kind === 'allow' ? withHeaders(response, outcome.headers) : response
  }
}

const PASS: GuardOutcome = { kind: 'pass' }

/** True if the request goes on to a route of this app, by what Next.js says in a response's headers. */
function staysInApp({ headers }: Response, { nextUrl, url }: NextRequest): boolean {
  const target = headers.get('x-middleware-rewrite')
  if (target === null) return headers.has('x-middleware-next')
  if (!URL.canParse(target, url)) return false
  // A URL of Next.js' own kind, for which all names of the local host are one.
  const rewritten = nextUrl.clone()
  rewritten.href = new URL(target, url).href
  return rewritten.origin === nextUrl.origin
}

const OVERRIDES = 'x-middleware-override-headers'
const OVERRIDE = 'x-middleware-request-'

/**
 * `response` with the request headers that `goesOn` passes to the route. Next.js carries them in
 * response headers of its own; where `response` overrides some itself, only the hand-off is added.
 */
function withRequestHeaders(response: Response, goesOn: Response): Response {
  const overridden = response.headers.get(OVERRIDES)
  const copy = new Response(response.body, response)
  for (const [name, value] of goesOn.headers) {
    if (!name.startsWith(OVERRIDE)) continue
    if (overridden === null || name === OVERRIDE + HANDOFF_HEADER) copy.headers.set(name, value)
  }
  const names =
    overridden === null ? goesOn.headers.get(OVERRIDES) : withHandoff(overridden, goesOn)
  if (names) copy.headers.set(OVERRIDES, names)
  return copy
}

function withHandoff(overridden: string, goesOn: Response): string {
  const others = overridden.split(',').filter((name) => name !== HANDOFF_HEADER)
  const signed = goesOn.headers.has(OVERRIDE + HANDOFF_HEADER)
  return (signed ? [...others, HANDOFF_HEADER] : others).join()
}
