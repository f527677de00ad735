import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { rateLimit } from '@sluice/adapters/express'
import { rateLimit as limitFastify } from '@sluice/adapters/fastify'
import { concurrency, fixedWindow, type Limiter } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import express, { type RequestHandler } from 'express'
import fastify from 'fastify'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { perMinute, setUpAtMidnight, subject } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { listen } from './support.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const headers = { 'x-tenant': 'acme' }

/** A limiter of nine requests, one in flight, whose subjects are found when the test says so. */
function setUp() {
  const { limiter } = setUpAtMidnight(
    concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] }),
    fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] }),
  )
  let goOn: (() => void) | undefined
  const found = new Promise<void>((resolve) => (goOn = resolve))
  const requests: Request[] = []
  const options = {
    cost: reserving(1),
    async subject(request: Request) {
      requests.push(request)
      await found
      return subject(request)
    },
  }
  const left = async () => {
    const { policies } = await limiter.peek(ACME, { cost: 0 })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, options, requests, left, goOn: () => goOn?.() }
}

/** The slot is free, and one request is charged. */
const CHARGED_AND_FREE = [1, 8]

describe('a request that others answer while it is decided', () => {
  it('frees its slot in Express, and no handler runs', async () => {
    const { limiter, options, left, goOn } = setUp()
    const handler = vi.fn<RequestHandler>()
    const app = express().set('env', 'test')
    app.use((_, res, next) => {
      next()
      res.status(503).send('timeout')
    })
    app.use(rateLimit(limiter, options), handler)
    const served = await listen(createServer(app))
    closing.push(() => served.close())
    expect(await (await fetch(served.url, { headers })).text()).toBe('timeout')
    goOn()
    await expect.poll(left).toEqual(CHARGED_AND_FREE)
    expect(handler).not.toHaveBeenCalled()
  })

  it('frees its slot in Fastify', async () => {
    const { limiter, options, left, goOn } = setUp()
    const app = fastify()
    app.addHook('onRequest', async (_, reply) => {
      setImmediate(() => void reply.code(503).send('timeout'))
    })
    app.register(limitFastify(limiter, options))
    app.get('/', async () => 'page')
    closing.push(() => app.close())
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    expect(await (await fetch(url, { headers })).text()).toBe('timeout')
    goOn()
    await expect.poll(left).toEqual(CHARGED_AND_FREE)
  })
})

/** Apps whose answer others begin, and end when the limiter has refused the request. */
const LATE: readonly {
  readonly framework: string
  serve(
    limiter: Limiter,
    options: { readonly subject: typeof subject },
    end: Promise<void>,
  ): Promise<string>
}[] = [
  {
    framework: 'Express',
    async serve(limiter, options, end) {
      const app = express().set('env', 'test')
      app.use((_, res, next) => {
        res.write('begun ')
        next()
        void end.then(() => res.end('ended'))
      })
      app.use(rateLimit(limiter, options))
      const served = await listen(createServer(app))
      closing.push(() => served.close())
      return served.url
    },
  },
  {
    framework: 'Fastify',
    async serve(limiter, options, end) {
      const app = fastify()
      app.addHook('onRequest', async (_, { raw }) => {
        raw.write('begun ')
        void end.then(() => raw.end('ended'))
      })
      app.register(limitFastify(limiter, options))
      app.get('/', async () => 'page')
      closing.push(() => app.close())
      return app.listen({ port: 0, host: '127.0.0.1' })
    },
  },
]

it.each(LATE)('leaves the answer that others have begun alone in $framework', async (app) => {
  const limiter = perMinute(0)
  const check = vi.spyOn(limiter, 'check')
  let end: (() => void) | undefined
  const url = await app.serve(limiter, { subject }, new Promise((resolve) => (end = resolve)))
  const answer = await fetch(url, { headers })
  await expect.poll(() => check.mock.settledResults.length).toBe(1)
  setImmediate(() => end?.())
  expect(await answer.text()).toBe('begun ended')
})

/** Serves requests. Returns the stream of one request over HTTP/2. */
async function send(serve: (req: IncomingMessage, res: ServerResponse) => void) {
  const server = createHttp2Server((req, res) => serve(req as never, res as never))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  closing.push(
    () => client.close(),
    () => server.close(),
  )
  return client.request({ ':path': '/', ...headers })
}

describe('a client of HTTP/2 that goes away', () => {
  it('aborts the signal and frees the slot while the request is decided', async () => {
    const { limiter, options, requests, left, goOn } = setUp()
    const limit = rateLimit(limiter, options)
    const stream = await send((req, res) => limit(req as never, res as never, () => {}))
    await expect.poll(() => requests.length).toBe(1)
    stream.close()
    await expect.poll(() => requests[0]?.signal.aborted).toBe(true)
    goOn()
    await expect.poll(left).toEqual(CHARGED_AND_FREE)
  })

  it('holds no slot if it was gone before', async () => {
    const { limiter, options, requests, left, goOn } = setUp()
    const limit = rateLimit(limiter, options)
    goOn()
    const arrived = vi.fn<() => void>()
    const stream = await send((req, res) => {
      res.once('close', () => limit(req as never, res as never, () => {}))
      arrived()
    })
    await expect.poll(() => arrived.mock.calls.length).toBe(1)
    stream.close()
    await expect.poll(left).toEqual(CHARGED_AND_FREE)
    expect(requests[0]?.signal.aborted).toBe(true)
  })

  it('is not one that has read the whole response', async () => {
    const { limiter, options, requests, left, goOn } = setUp()
    const limit = rateLimit(limiter, options)
    goOn()
    const stream = await send((req, res) => {
      limit(req as never, res as never, () => void res.end('page'))
    })
    stream.resume()
    await once(stream, 'end')
    await expect.poll(left).toEqual(CHARGED_AND_FREE)
    expect(requests[0]?.signal.aborted).toBe(false)
  })
})

const onDenied = () => new Response('busy', { headers: { 'set-cookie': 'busy=1' } })

it('replaces the headers that an earlier limiter has set for an allowed request', async () => {
  const app = express()
  app.use((_, res, next) => {
    res.type('html').vary('origin').cookie('own', '1')
    next()
  })
  app.use(rateLimit(perMinute(100), { subject }), rateLimit(perMinute(0), { subject, onDenied }))
  const served = await listen(createServer(app))
  closing.push(() => served.close())
  const answer = await fetch(served.url, { headers })
  expect(answer.headers.get('x-ratelimit-limit')).toBe('0')
  expect(answer.headers.get('ratelimit')).toBe('"rpm";r=0;t=60')
  expect(answer.headers.get('content-type')).toBe('text/plain;charset=UTF-8')
  expect(answer.headers.get('vary')).toBe('origin')
  expect(answer.headers.getSetCookie()).toEqual(['own=1; Path=/', 'busy=1'])
})
