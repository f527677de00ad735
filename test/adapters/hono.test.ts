import { createAdaptorServer } from '@hono/node-server'
import { rateLimit } from '@sluice/adapters/hono'
import type { Limiter } from '@sluice/core'
import { decisionOf, reservationOf } from '@sluice/core/http'
import { Hono, type Context } from 'hono'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createServer as createHttp2Server } from 'node:http2'
import { perMinute, subject } from '../core/http/support.ts'
import { mistakesAreNamed } from '../support/mistakes.ts'
import { adapterCases } from './cases.ts'
import { listen, sameDecision, type App, type Serve } from './support.ts'

function createHono({ limiter, options, chat, settle, stream, fail, free }: App): Hono {
  const app = new Hono()
  app.use('/api/ai/*', rateLimit(limiter, options))
  app.on(['GET', 'POST'], '/api/ai/chat', (c) => c.text(chat()))
  app.post('/api/ai/settle', async (c) =>
    c.text(await settle(sameDecision(reservationOf(c.req.raw), decisionOf(c.req.raw)))),
  )
  app.post('/api/ai/stream', (c) => c.body(stream()))
  app.post('/api/ai/fail', () => fail())
  app.post('/free', (c) => c.text(free()))
  return app
}

const serve: Serve = (parts) => listen(createAdaptorServer(createHono(parts)))

const serveHttp2: Serve = (parts) => {
  const { fetch } = createHono(parts)
  return listen(createAdaptorServer({ fetch, createServer: createHttp2Server }))
}

adapterCases(serve, {
  spellings: ['/api/ai/%63hat', '/%61pi/ai/chat'],
  serveHttp2,
})

const post = { method: 'POST', headers: { 'x-tenant': 'acme' } }

/** The route that a request is counted by, if `register` builds the app. */
async function routeOf(path: string, register: (app: Hono, limiter: Limiter) => void) {
  const limiter = perMinute(9)
  const check = vi.spyOn(limiter, 'check')
  const app = new Hono()
  register(app, limiter)
  await app.request(path, post)
  return check.mock.calls[0]?.[0]?.route
}

const forAll = (app: Hono, limiter: Limiter) => {
  app.use('/api/*', rateLimit(limiter, { subject }))
  app.all('/api/:name', (c) => c.text('any'))
}

describe('the route', () => {
  it('is the path of the handler, wherever it is mounted', async () => {
    const route = await routeOf('/api/ai/models/large', (app, limiter) => {
      const models = new Hono().post('/:model', (c) => c.text('model'))
      app.use(rateLimit(limiter, { subject }))
      app.route('/api/ai/models', models)
      app.use('*', async (c) => c.text('page'))
    })
    expect(route).toBe('/api/ai/models/:model')
  })

  it('is the path of the middleware if nothing else tells methods apart, or matches', async () => {
    expect(await routeOf('/api/chat', forAll)).toBe('/api/*')
    expect(await routeOf('/api/not/found', forAll)).toBe('/api/*')
  })

  it('is the option, if there is one', async () => {
    const route = await routeOf('/chat', (app, limiter) => {
      app.post('/chat', rateLimit(limiter, { subject, route: 'ai' }), (c) => c.text('chat'))
    })
    expect(route).toBe('ai')
  })
})

/** Sends requests with and without an execution context. Returns what the limiter may wait with. */
async function waitsOf(requests: readonly (readonly [env: object, context?: object])[]) {
  const limiter = perMinute(9)
  const check = vi.spyOn(limiter, 'check')
  const app = new Hono().post('/chat', rateLimit(limiter, { subject }), (c) => c.text('chat'))
  for (const [env, context] of requests) await app.request('/chat', post, env, context as never)
  return check.mock.calls.map(([, options]) => options?.waitUntil)
}

describe('the execution context', () => {
  const waitUntil = vi.fn<(promise: Promise<unknown>) => void>()
  const executionContext = { waitUntil, passThroughOnException() {}, props: {} }
  afterEach(() => void waitUntil.mockReset())

  it('lets the limiter work past the response, where there is one', async () => {
    const [wait] = await waitsOf([[{}, executionContext]])
    const work = Promise.resolve()
    wait?.(work)
    expect(waitUntil).toHaveBeenCalledExactlyOnceWith(work)
  })

  it('is found after requests without one, also after those of Node.js', async () => {
    const inNode = { incoming: {}, outgoing: {} }
    const waits = await waitsOf([[{}], [inNode], [inNode], [{}, executionContext]])
    expect(waits.map((wait) => typeof wait)).toEqual([...Array(3).fill('undefined'), 'function'])
  })

  it('is not looked for again on a server of Node.js that has none, because Hono throws', async () => {
    const get = vi.fn<() => never>(() => {
      throw new Error('This context has no ExecutionContext')
    })
    const app = new Hono()
    app.use(async (c, next) => {
      Object.defineProperty(c, 'executionCtx', { get })
      await next()
    })
    app.use(rateLimit(perMinute(9), { subject }))
    app.post('/chat', (c) => c.text('chat'))
    const served = await listen(createAdaptorServer(app))
    for (let time = 0; time < 3; time += 1) await fetch(`${served.url}/chat`, post)
    await served.close()
    expect(get).toHaveBeenCalledOnce()
  })
})

it('gives the functions of the options the context, with the variables of the app', async () => {
  interface AppEnv {
    Bindings: { LIMIT: number }
    Variables: { user: string }
  }
  const limiterFor = vi.fn<(c: Context<AppEnv>) => Limiter>((c) => perMinute(c.env.LIMIT))
  const app = new Hono<AppEnv>()
  app.use(async (c, next) => {
    c.set('user', 'u1')
    await next()
  })
  const subjectOf = (_: Request, c: Context<AppEnv>) => ({ tenant: c.var.user })
  const chat = rateLimit(limiterFor, { subject: subjectOf })
  app.post('/chat', chat, (c) => c.text(c.var.user))
  const statuses = []
  for (let time = 0; time < 3; time += 1) {
    statuses.push((await app.request('/chat', post, { LIMIT: 2 })).status)
  }
  expect(statuses).toEqual([200, 200, 429])
  expect(limiterFor).toHaveBeenCalledTimes(1)
})

describe('options are checked at once', () => {
  mistakesAreNamed([
    ['no options', () => rateLimit(perMinute(1), undefined as never), 'rateLimit'],
    ['no subject', () => rateLimit(perMinute(1), {} as never), 'subject'],
    ['no limiter', () => rateLimit(undefined as never, { subject }), 'limiter'],
    ['an empty route', () => rateLimit(perMinute(1), { subject, route: '' }), 'route'],
    [
      'a misspelt option',
      () => rateLimit(perMinute(1), { subject, routes: [] } as never),
      'rateLimit.routes',
      'unknown_option',
    ],
  ])
})
