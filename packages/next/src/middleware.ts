import type { AllowedDecision } from '@sluice/core'
import {
  compileRoutes,
  createGuard,
  respond,
  withHeaders,
  type AdapterOptions,
  type AllowOutcome,
  type GuardOutcome,
  type LimiterSource,
  type RouteCost,
} from '@sluice/core/http'
import { createHandoff, HANDOFF_HEADER } from '@sluice/core/internal/http'
import { assertFunction, assertOptions, invalidOption } from '@sluice/core/internal'
import { NextResponse, type NextFetchEvent, type NextRequest } from 'next/server.js'
import { reservedCost } from './charged-requests.ts'
import { routePath } from './route-path.ts'
import { unsignedHandoffs } from './handoff-reports.ts'

/** Options of `rateLimit`. */
export interface RateLimitOptions extends AdapterOptions<
  [event: NextFetchEvent | undefined],
  NextRequest
> {
  /**
   * A secret of at least 32 characters, shared with `withRateLimit`, so that a wrapped handler does not
   * charge a request again. @default none: both charge
   */
  readonly secret?: string | undefined
  /** The app's locales, if it has `i18n`. A leading locale is removed before a path is matched. */
  readonly locales?: readonly string[]
  /**
   * Your own middleware, called for every request that is not refused. `decision` is set if the request
   * was charged. The limits' headers are added to its response. A rewrite to another origin gets no
   * hand-off.
   *
   * @default goes on to the route
   */
  readonly next?: (
    request: NextRequest,
    event: NextFetchEvent | undefined,
    decision: AllowedDecision | undefined,
  ) => Response | undefined | null | Promise<Response | undefined | null>
}

/** The export `middleware` of `middleware.ts`, or `proxy` of `proxy.ts`. */
export type Middleware = (request: NextRequest, event?: NextFetchEvent) => Promise<Response>

/**
 * Limits requests in Next.js middleware (edge) or proxy (Node). A request to one of `routes` is answered
 * with 401 if it has no subject and with 429 if a policy denies it. Any other goes on, and its response
 * carries the limits' headers. Paths are matched without the app's `basePath`, locale and data suffixes.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
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
  assertNotReserved('cost', guardOptions.cost)
  if (next !== undefined) assertFunction('next', next)
  if (!Array.isArray(locales) || !locales.every((locale) => typeof locale === 'string')) {
    throw invalidOption('locales', 'must be a list of strings', locales)
  }
  const match = compileRoutes(routes, (path) => routePath(path, locales))
  for (const [index, route] of routes.entries()) {
    if (typeof route === 'object') assertNotReserved(`routes[${index}].cost`, route.cost)
  }
  const handoff = secret === undefined ? undefined : createHandoff(secret)
  const unsignedHandoff = unsignedHandoffs()

  /** Returns the hand-off of a request that was charged. Without a secret, only some have one. */
  async function handoffFor(
    { method, nextUrl }: NextRequest,
    { route, subject, decision }: AllowOutcome,
  ): Promise<string | undefined> {
    // The route sees this path, even if the request is rewritten.
    const terms = { method, route, path: nextUrl.pathname, subject }
    return handoff ? handoff.sign(terms) : unsignedHandoff(decision)
  }

  /**
   * Returns the headers that the route gets instead of the client's: with a hand-off for the charge, and without
   * one that the client sent. Returns nothing if they are the same, because other headers cost Next.js time.
   */
  async function headersForRoute(
    request: NextRequest,
    outcome: GuardOutcome,
  ): Promise<Headers | undefined> {
    const value = outcome.kind === 'allow' ? await handoffFor(request, outcome) : undefined
    if (value === undefined && !request.headers.has(HANDOFF_HEADER)) return undefined
    const headers = new Headers(request.headers)
    headers.delete(HANDOFF_HEADER)
    if (value !== undefined) headers.set(HANDOFF_HEADER, value)
    return headers
  }

  /** Adds the route's request headers to the response of the user's own middleware. */
  async function withHandoff(
    response: Response | undefined | null,
    request: NextRequest,
    outcome: GuardOutcome,
  ): Promise<Response> {
    if (response && !staysInApp(response, request)) return response
    const headers = await headersForRoute(request, outcome)
    if (!headers) return response ?? NextResponse.next()
    const onward = NextResponse.next({ request: { headers } })
    return response ? withRequestHeaders(response, onward) : onward
  }

  return async (request, event) => {
    const route = match(request.method, request.nextUrl.pathname)
    const outcome = route ? await guard(route, request, event) : PASS
    if (outcome.kind === 'refuse') return outcome.response
    const decision = outcome.kind === 'allow' ? outcome.decision : undefined
    const response = await withHandoff(await next?.(request, event, decision), request, outcome)
    return outcome.kind === 'allow' ? respond(outcome, () => response) : response
  }
}

/** Throws if `cost` is to be reserved: the handler runs elsewhere, and could not settle it. */
function assertNotReserved(option: string, cost: RouteCost<never, never> | undefined): void {
  if (reservedCost(cost) === undefined) return
  const message = 'must not be reserved in middleware; set cost: reserving(…) in withRateLimit'
  throw invalidOption(option, message)
}

const PASS: GuardOutcome = { kind: 'pass' }

/** Returns true if, by the headers that Next.js sets, the request goes on to a route of this app. */
function staysInApp({ headers }: Response, { nextUrl, url }: NextRequest): boolean {
  const target = headers.get('x-middleware-rewrite')
  if (target === null) return headers.has('x-middleware-next')
  if (!URL.canParse(target, url)) return false
  // Next.js' own kind of URL, which treats all names of the local host as one.
  const rewritten = nextUrl.clone()
  rewritten.href = new URL(target, url).href
  return rewritten.origin === nextUrl.origin
}

const OVERRIDES = 'x-middleware-override-headers'
const OVERRIDE = 'x-middleware-request-'

/**
 * Returns `response` with the request headers that `next` passes to the route. Next.js encodes them in
 * response headers. If `response` overrides some itself, only the hand-off is added.
 */
function withRequestHeaders(response: Response, next: Response): Response {
  const overridden = response.headers.get(OVERRIDES)
  const headers: Record<string, string> = {}
  for (const [name, value] of next.headers) {
    if (!name.startsWith(OVERRIDE)) continue
    if (overridden === null || name === OVERRIDE + HANDOFF_HEADER) headers[name] = value
  }
  const names = overridden === null ? next.headers.get(OVERRIDES) : addHandoffName(overridden, next)
  if (names) headers[OVERRIDES] = names
  return withHeaders(response, headers)
}

function addHandoffName(overridden: string, next: Response): string {
  const others = overridden.split(',').filter((name) => name !== HANDOFF_HEADER)
  const isSigned = next.headers.has(OVERRIDE + HANDOFF_HEADER)
  return (isSigned ? [...others, HANDOFF_HEADER] : others).join()
}
