import { createServer, request as sendRequest } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { Readable } from 'node:stream'
import { decisionOf, reservationOf, rateLimit } from '@sluice/adapters/express'
import { reserving } from '@sluice/core/http'
import express, { type Express, type Request as ExpressRequest } from 'express'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { perMinute, subject } from '../core/http/support.ts'
import { mistakesAreNamed } from '../support/mistakes.ts'
import { adapterCases } from './cases.ts'
import { listen, sameDecision, type Serve, type Served } from './support.ts'

const running: Served[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((served) => served.close()))
})

/** An app that prints no errors. */
function quiet(): Express {
  return express().set('env', 'test')
}

async function serveApp(app: Express): Promise<Served> {
  const served = await listen(createServer(app))
  running.push(served)
  return served
}

const serve: Serve = async ({ limiter, options, chat, settle, stream, fail, free }) => {
  const app = quiet()
  const limit = rateLimit(limiter, options)
  app.all('/api/ai/chat', limit, (_, res) => void res.send(chat()))
  app.post('/api/ai/settle', limit, (req, res, next) => {
    settle(sameDecision(reservationOf(req), decisionOf(req))).then((text) => res.send(text), next)
  })
  app.post('/api/ai/stream', limit, (_, res) => {
    res.flushHeaders()
    Readable.fromWeb(stream() as never).pipe(res)
  })
  app.post('/api/ai/fail', limit, () => fail())
  app.post('/free', (_, res) => void res.send(free()))
  return listen(createServer(app))
}

/** The adapter by itself: Express does not speak HTTP/2. */
const serveHttp2: Serve = async ({ limiter, options, chat, settle, stream }) => {
  const limit = rateLimit(limiter, options)
  return listen(
    createHttp2Server((req, res) => {
      limit(req as never, res as never, () => {
        if (req.url.endsWith('chat')) res.end(chat())
        else if (req.url.endsWith('settle'))
          void settle(reservationOf(req as never)).then((text) => res.end(text))
        else Readable.fromWeb(stream() as never).pipe(res)
      })
    }),
  )
}

adapterCases(serve, { spellings: ['/API/ai/Chat', '/api/ai/chat/'], serveHttp2 })

const headers = { 'x-tenant': 'acme' }

describe('the route', () => {
  it('is the path of the route, or "*" behind app.use, or the option', async () => {
    const limiter = perMinute(9)
    const check = vi.spyOn(limiter, 'check')
    const app = quiet()
    const limit = rateLimit(limiter, { subject })
    app.get('/models/:model', limit, (_, res) => void res.send('model'))
    app.use('/teams/:team', limit, (_, res) => void res.send('team'))
    app.use(rateLimit(limiter, { subject, route: 'rest' }))
    const { url } = await serveApp(app)
    for (const path of ['/models/a', '/Models/b/', '/teams/a', '/Teams/b/x', '/other']) {
      await fetch(url + path, { headers })
    }
    const routes = check.mock.calls.map(([counted]) => counted.route)
    expect(routes).toEqual(['/models/:model', '/models/:model', '*', '*', 'rest'])
  })
})

const broken = () => Promise.reject(new Error('no database'))

describe('the functions of the options', () => {
  it('get what the client sent, wherever the app is mounted, and the parsed body', async () => {
    const seen = vi.fn<(request: Request, req: ExpressRequest) => void>()
    const cost = (request: Request, req: ExpressRequest) => {
      seen(request, req)
      return (req.body as { words: number }).words
    }
    const limit = rateLimit(perMinute(9), { subject, cost })
    const inner = express.Router().post('/chat', limit, (req, res) => void res.json(req.body))
    const { url } = await serveApp(quiet().use(express.json()).use('/api', inner))
    const body = JSON.stringify({ words: 4 })
    const answer = await fetch(`${url}/api/chat?stream=1`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    expect(await answer.json()).toEqual({ words: 4 })
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('5')
    const [request] = seen.mock.calls[0] ?? []
    expect([request?.method, request?.url]).toEqual(['POST', `${url}/api/chat?stream=1`])
    expect(request?.headers.get('content-type')).toBe('application/json')
  })

  it('may throw: the error goes to the error handling of the app', async () => {
    const app = quiet().use(rateLimit(perMinute(9), { subject: broken }))
    const { url } = await serveApp(app)
    const answer = await fetch(url, { headers })
    expect([answer.status, await answer.text()]).toEqual([
      500,
      expect.stringContaining('no database'),
    ])
  })
})

it('keeps the headers that other middleware exposes to scripts', async () => {
  const app = quiet()
  app.use((_, res, next) => {
    res.set('access-control-expose-headers', 'x-own')
    next()
  })
  app.get('/', rateLimit(perMinute(9), { subject }), (_, res) => void res.send('page'))
  const { url } = await serveApp(app)
  const answer = await fetch(url, { headers: { ...headers, origin: 'https://app.example' } })
  expect(answer.headers.get('access-control-expose-headers')).toMatch(/^x-own, .*RateLimit/)
})

it('answers 400 to what the Fetch API cannot express', async () => {
  const { url } = await serveApp(quiet().use(rateLimit(perMinute(9), { subject })))
  const { port } = new URL(url)
  const status = await new Promise((resolve, reject) => {
    sendRequest({ host: '127.0.0.1', port, method: 'TRACE' }, (answer) =>
      resolve(answer.statusCode),
    )
      .on('error', reject)
      .end()
  })
  expect(status).toBe(400)
})

it('tells a handler whose route reserves nothing how to reserve', async () => {
  const app = quiet().use(rateLimit(perMinute(9), { subject }))
  app.use((req) => void reservationOf(req))
  const { url } = await serveApp(app)
  expect(await (await fetch(url, { headers })).text()).toContain('cost: reserving(…)')
})

describe('options are checked at once', () => {
  mistakesAreNamed([
    ['no subject', () => rateLimit(perMinute(1), {} as never), 'subject'],
    ['no limiter', () => rateLimit(undefined as never, { subject }), 'limiter'],
    [
      'a malformed cost',
      () => rateLimit(perMinute(1), { subject, cost: reserving(-1) }),
      'reserving.cost',
    ],
    ['an empty route', () => rateLimit(perMinute(1), { subject, route: '' }), 'route'],
  ])
})
