import {
  decisionOf,
  rateLimit,
  reservationOf,
  type RateLimitOptions,
  type RouteRateLimit,
} from '@sluice/adapters/fastify'
import { createLimiter, listen, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { perMinute, subject } from '../core/http/support.ts'
import { mistakesAreNamed } from '../support/mistakes.ts'
import { adapterCases } from './cases.ts'
import { hangUpCases } from './hang-ups.ts'
import { sameDecision, type App, type Serve, type Served } from './support.ts'

const serve: Serve = async (parts) =>
  serveOn(
    fastify({ forceCloseConnections: true, routerOptions: { ignoreTrailingSlash: true } }),
    parts,
  )

async function serveOn(
  app: FastifyInstance,
  { limiter, options, chat, settle, stream, fail, free }: App,
  hook?: RateLimitOptions['hook'],
): Promise<Served> {
  app.register(async (ai) => {
    ai.register(rateLimit(limiter, { ...options, hook }))
    ai.route({ method: ['GET', 'POST'], url: '/api/ai/chat', handler: async () => chat() })
    ai.post('/api/ai/settle', (request) =>
      settle(sameDecision(reservationOf(request), decisionOf(request))),
    )
    ai.post('/api/ai/stream', async () => stream())
    ai.post('/api/ai/fail', async () => fail())
  })
  app.post('/free', async () => free())
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url, close: () => app.close() }
}

adapterCases(serve, {
  spellings: ['/api/ai/%63hat', '/%61pi/ai/chat', '/api/ai/chat/'],
  serveHttp2: (parts) => serveOn(fastify({ http2: true }) as never, parts),
})

describe('in the hook preHandler', () => {
  hangUpCases((parts) => serveOn(fastify({ forceCloseConnections: true }), parts, 'preHandler'))
})

/** Serves one route with this `config.rateLimit`. Returns a function that sends a request to it. */
async function route(options: Partial<RateLimitOptions>, config?: RouteRateLimit | false) {
  const app = fastify()
  await app.register(rateLimit(perMinute(3), { subject, ...options }))
  app.post('/chats/:id', { config: { rateLimit: config } }, async () => 'chat')
  const headers = { 'x-tenant': 'acme' }
  return (payload: object = {}) => app.inject({ method: 'POST', url: '/chats/1', headers, payload })
}

describe('config.rateLimit of a route', () => {
  it('leaves out a route that is false', async () => {
    const send = await route({}, false)
    const { statusCode, headers } = await send()
    expect([statusCode, headers['x-ratelimit-remaining']]).toEqual([200, undefined])
  })

  it('has a cost of its own', async () => {
    const send = await route({}, { cost: 2 })
    const answers = [await send(), await send()]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 429])
  })

  it('is an error that names the option when the route is added', async () => {
    const wrong = { costs: 2 } as RouteRateLimit
    await expect(route({}, wrong)).rejects.toThrow('config.rateLimit.costs')
    await expect(route({}, { cost: -1 })).rejects.toThrow('config.rateLimit.cost')
    await expect(route({}, { id: '' })).rejects.toThrow('config.rateLimit.id')
  })
})

it('reads the body for the cost in the hook preHandler', async () => {
  const send = await route({
    hook: 'preHandler',
    cost: (_, { body }) => (body as { cost: number }).cost,
  })
  const { headers } = await send({ cost: 2 })
  expect(headers['x-ratelimit-remaining']).toBe('1')
})

it('counts by the url of the route', async () => {
  const routes: unknown[] = []
  const limiter = createLimiter({
    store: memory(),
    policies: [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['route'] })],
    extensions: [listen({ decision: (event) => void routes.push(event.subject.route) })],
  })
  const app = fastify()
  app.register(rateLimit(limiter, { subject }))
  app.post('/chats/:id', async () => 'chat')
  await app.inject({ method: 'POST', url: '/chats/1', headers: { 'x-tenant': 'acme' } })
  expect((await app.inject('/none')).statusCode).toBe(404)
  expect(routes).toEqual(['/chats/:id'])
})

describe('a mistake in the options of the plugin is an error at construction', () => {
  const loosely = rateLimit as (...args: unknown[]) => unknown
  mistakesAreNamed([
    ['an unknown hook', () => loosely(perMinute(1), { subject, hook: 'onSend' }), 'hook'],
    [
      'an unknown option',
      () => loosely(perMinute(1), { subjects: subject }),
      'rateLimit.subjects',
      'unknown_option',
    ],
    ['no options', () => loosely(perMinute(1)), 'rateLimit'],
  ])
})
