import type { AllowedDecision } from '@sluice/core'
import {
  createGuard,
  decisionOf as decisionOfRequest,
  reservationOf as reservationOfRequest,
  respond,
  type LimiterSource,
  type RequestReservation,
} from '@sluice/core/http'
import type { MiddlewareFunction, RouterContextProvider } from 'react-router'
import { splitRoute, type RouteLimitOptions } from './internal/route-option.ts'

/** The arguments that React Router gives to middleware. */
export type MiddlewareArgs = Parameters<MiddlewareFunction<Response>>[0]

/** The values that functions of the options get beside the request. */
export type ReactRouterContext = [args: MiddlewareArgs]

/** Options of `rateLimit`. `route` is the pattern of the matched route by default. */
export type RateLimitOptions = RouteLimitOptions<ReactRouterContext>

/** The request that middleware got: before version 8, handlers get a copy of it. */
const requests = new WeakMap<Readonly<RouterContextProvider>, Request>()

/**
 * Limits the requests to a route of React Router, and to the routes in it. A request is answered with 401
 * if it has no subject and with 429 if a policy denies it. Any other goes on, and its response carries the
 * limits' headers. Requests are counted by the pattern of the matched route, such as `/chats/:id`.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * export const middleware = [rateLimit(limiter, { subject: tenantFromJwt })]
 */
export function rateLimit(
  limiter: LimiterSource<ReactRouterContext>,
  options: RateLimitOptions,
): MiddlewareFunction<Response> {
  const { route, guardOptions } = splitRoute(options)
  const guard = createGuard(limiter, guardOptions)
  return async (args, next) => {
    const { request, pattern, context } = args
    requests.set(context, request)
    const outcome = await guard({ id: route ?? pattern, cost: undefined }, request, args)
    if (outcome.kind === 'refuse') return outcome.response
    return outcome.kind === 'pass' ? next() : respond(outcome, next)
  }
}

/**
 * Returns the reservation of a request to its loader or action, if the cost is `reserving(…)`.
 *
 * @throws ConfigError When nothing is reserved for the request.
 * @example
 * export async function action({ context, request }: Route.ActionArgs) {
 *   const call = reservationOf(context)
 * }
 */
export function reservationOf(context: Readonly<RouterContextProvider>): RequestReservation {
  return reservationOfRequest(requests.get(context) as Request)
}

/**
 * Returns the decision on a request to its loader or action: what is left of the limits, and `degraded` if
 * the store failed. `undefined` if the request was not charged.
 *
 * @example
 * const isDegraded = decisionOf(context)?.degraded !== undefined
 */
export function decisionOf(context: Readonly<RouterContextProvider>): AllowedDecision | undefined {
  return decisionOfRequest(requests.get(context) as Request)
}
