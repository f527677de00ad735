import type { AllowedDecision } from '@sluice/core'
import {
  createGuard,
  type GuardOptions,
  type LimiterSource,
  type RequestReservation,
  type RouteCost,
} from '@sluice/core/http'
import { assertRouteCost } from '@sluice/core/internal/http'
import { assertKnownOptions, assertOneOf, assertOptions } from '@sluice/core/internal'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { asError } from './internal/as-error.ts'
import { decisionOfNode, requestOf, reservationOfNode } from './internal/node-request.ts'
import { endWithResponse, headersToRemove, headersToSet } from './internal/node-response.ts'
import { assertRouteId } from './internal/route-option.ts'

/** The values that functions of the options get beside the request. */
export type FastifyContext = [request: FastifyRequest, reply: FastifyReply]

/** Options of `rateLimit`. */
export interface RateLimitOptions extends GuardOptions<FastifyContext> {
  /**
   * The hook that limits a request. `onRequest` turns it away before its body is read. In `preHandler`,
   * functions of the options can read `request.body`. @default 'onRequest'
   */
  readonly hook?: 'onRequest' | 'preHandler' | undefined
}

/** The option `config.rateLimit` of a route. */
export interface RouteRateLimit {
  /** The id that requests are counted under (`subject.route`). @default the `url` of the route */
  readonly id?: string | undefined
  /** The cost of a request. @default the `cost` of the plugin, else 1 request */
  readonly cost?: RouteCost<FastifyContext> | undefined
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The id and the cost of this route, or `false` for a route without limits. */
    rateLimit?: RouteRateLimit | false | undefined
  }
}

/**
 * Creates a plugin that limits the requests to the routes of a Fastify app, or of the part of it that
 * registers the plugin. A request is answered with 401 if it has no subject and with 429 if a policy
 * denies it. Any other goes on, and its response carries the limits' headers. Requests are counted by the
 * `url` of their route.
 *
 * @param limiter A limiter, or a function that creates it at the first request (its result is kept).
 * @throws ConfigError When an option is missing or malformed. Fastify throws one for a `config.rateLimit`
 * when it adds the route, or at the route's first request if it added the route before the plugin.
 * @example
 * app.register(rateLimit(limiter, { subject: tenantFromJwt }))
 */
export function rateLimit(
  limiter: LimiterSource<FastifyContext>,
  options: RateLimitOptions,
): FastifyPluginCallback {
  assertOptions('rateLimit', options)
  const { hook = 'onRequest', ...guardOptions } = options
  assertOneOf('hook', hook, ['onRequest', 'preHandler'])
  const guard = createGuard(limiter, guardOptions)

  /** Resolves to true if a request goes on; answers any other. */
  async function shouldContinue(request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    const { url, config } = request.routeOptions
    // No handler runs for a request that matches no route.
    if (url === undefined || config.rateLimit === false) return true
    const { id = url, cost } = routeRateLimit(config.rateLimit)
    const outcome = await guard({ id, cost }, requestOf(request.raw, reply.raw), request, reply)
    if (outcome.kind === 'refuse') await sendRefusal(reply, outcome.response)
    if (outcome.kind === 'allow') {
      endWithResponse(outcome.call, reply.raw)
      addHeaders(reply, headersToSet(reply.raw, outcome.headers))
    }
    return outcome.kind !== 'refuse'
  }

  // A callback, which a refusal does not call. After the promise of a hook, Fastify continues unless the reply
  // counts as sent, which it may not when the client is gone.
  const limit = (request: FastifyRequest, reply: FastifyReply, done: DoneFunction): void => {
    shouldContinue(request, reply).then(
      (continues) => continues && done(),
      (error: unknown) => done(asError(error)),
    )
  }

  const plugin: FastifyPluginCallback = (app, _, done) => {
    app.addHook('onRoute', ({ config }) => void routeRateLimit(config?.rateLimit || {}))
    if (hook === 'onRequest') app.addHook('onRequest', limit)
    else app.addHook('preHandler', limit)
    done()
  }
  return Object.assign(plugin, PLUGIN_METADATA)
}

type DoneFunction = (error?: Error) => void

/** Sends the response to a refused request, unless others have begun to answer. */
async function sendRefusal(reply: FastifyReply, response: Response): Promise<void> {
  // Fastify cannot answer `HEAD` with a stream.
  const body = response.body === null ? undefined : Buffer.from(await response.arrayBuffer())
  if (reply.sent || reply.raw.headersSent) return
  for (const name of headersToRemove(reply.raw, response)) reply.removeHeader(name)
  addHeaders(reply, response.headers)
  reply.code(response.status).send(body)
}

function addHeaders(reply: FastifyReply, headers: Iterable<[string, string]>): void {
  for (const [name, value] of headers) {
    // Another plugin may expose headers of its own to scripts.
    const isExposing = name.toLowerCase() === 'access-control-expose-headers'
    const others = isExposing ? reply.getHeader(name) : undefined
    reply.header(name, others === undefined ? value : `${String(others)}, ${value}`)
  }
}

/** Has Fastify add the hooks to the app itself, not to a scope of the plugin's own. */
const PLUGIN_METADATA = {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@sluice/adapters/fastify',
  [Symbol.for('plugin-meta')]: { name: '@sluice/adapters/fastify', fastify: '5.x' },
}

/** Returns the `config.rateLimit` of a route. @throws ConfigError When it is malformed. */
function routeRateLimit(config: RouteRateLimit = {}): RouteRateLimit {
  assertKnownOptions('config.rateLimit', config, ['id', 'cost'])
  if (config.id !== undefined) assertRouteId('config.rateLimit.id', config.id)
  assertRouteCost('config.rateLimit.cost', config.cost)
  return config
}

/**
 * Returns the reservation of a request to its handler, if the cost of its route is `reserving(…)`.
 *
 * @throws ConfigError When nothing is reserved for the request.
 * @example
 * const call = reservationOf(request)
 * await call.settle({ token: usage.total_tokens })
 */
export function reservationOf(request: FastifyRequest): RequestReservation {
  return reservationOfNode(request.raw)
}

/**
 * Returns the decision on a request to its handler: what is left of the limits, and `degraded` if the store
 * failed. `undefined` if the request was not charged.
 *
 * @example
 * const isDegraded = decisionOf(request)?.degraded !== undefined
 */
export function decisionOf(request: FastifyRequest): AllowedDecision | undefined {
  return decisionOfNode(request.raw)
}
