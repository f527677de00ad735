import type { IncomingMessage } from 'node:http'
import type { AllowedDecision } from '@sluice/core'
import { createGuard, type LimiterSource, type RequestReservation } from '@sluice/core/http'
import type {
  Request as ExpressRequest,
  RequestHandler,
  Response as ExpressResponse,
} from 'express'
import { asError } from './internal/as-error.ts'
import { decisionOfNode, requestOf, reservationOfNode } from './internal/node-request.ts'
import {
  endWithResponse,
  headersToSet,
  sendResponse,
  setHeaders,
} from './internal/node-response.ts'
import { splitRoute, type RouteLimitOptions } from './internal/route-option.ts'

/** Options of `rateLimit`. `route` is the path of the route by default, and `*` behind `app.use`. */
export type RateLimitOptions = RouteLimitOptions<[req: ExpressRequest]>

/**
 * Limits the requests to routes of an Express or Connect app. A request is answered with 401 if it has
 * no subject and with 429 if a policy denies it. Any other goes on, and its response carries the limits'
 * headers. The functions of the options get a `Request` without a body, and Express' own `req`.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * app.post('/api/ai/chat', rateLimit(limiter, { subject: tenantFromJwt }), chat)
 */
export function rateLimit(
  limiter: LimiterSource<[req: ExpressRequest]>,
  options: RateLimitOptions,
): RequestHandler {
  const { route, guardOptions } = splitRoute(options)
  const guard = createGuard(limiter, guardOptions)

  /** Returns true if a request goes on; answers any other. */
  async function shouldContinue(req: ExpressRequest, res: ExpressResponse): Promise<boolean> {
    const request = requestOf(req, res)
    const outcome = await guard({ id: route ?? routePath(req), cost: undefined }, request, req)
    if (outcome.kind === 'allow') endWithResponse(outcome.call, res)
    // Others may answer meanwhile, such as a middleware for timeouts.
    if (res.headersSent || res.writableEnded) return false
    if (outcome.kind === 'allow') setHeaders(res, headersToSet(res, outcome.headers))
    if (outcome.kind === 'refuse') await sendResponse(res, outcome.response)
    return outcome.kind !== 'refuse'
  }

  return (req, res, next) => {
    shouldContinue(req, res).then(
      (continues) => continues && next(),
      (error: unknown) => next(asError(error)),
    )
  }
}

/**
 * Returns the reservation of a request to its handler.
 *
 * @throws ConfigError When nothing is reserved for the request: its route needs `cost: reserving(…)`.
 * @example
 * const { text, usage } = await callModel(req.body)
 * await reservationOf(req).settle({ token: usage.total_tokens })
 */
export function reservationOf(req: IncomingMessage): RequestReservation {
  return reservationOfNode(req)
}

/**
 * Returns the decision on a request to its handler: what is left of the limits, and `degraded` if the store
 * failed. `undefined` if the request was not charged.
 *
 * @example
 * const isDegraded = decisionOf(req)?.degraded !== undefined
 */
export function decisionOf(req: IncomingMessage): AllowedDecision | undefined {
  return decisionOfNode(req)
}

/** Never the path of the request or of a mount, which the client may spell in many ways. */
const routePath = ({ route }: ExpressRequest): string =>
  route === undefined ? '*' : String((route as { path: unknown }).path)
