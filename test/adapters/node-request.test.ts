import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, createServer as createHttp2Server } from 'node:http2'
import { rateLimit } from '@sluice/adapters/express'
import { concurrency, fixedWindow, type Limiter } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import express from 'express'
import { afterEach, expect, it, vi } from 'vitest'
import { perMinute, setUpAtMidnight, subject } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { PATIENTLY } from '../support/patience.ts'
import { listen, type Served } from './support.ts'

const running: Served[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((served) => served.close()))
})

/** An app that notes the requests that the subject is found in, and a way to send it one. */
async function noting(limiter: Limiter = perMinute(9)) {
  const requests: Request[] = []
  const note = (request: Request) => {
    requests.push(request)
    return subject(request)
  }
  const app = express().use(rateLimit(limiter, { subject: note }))
  const served = await listen(createServer(app))
  running.push(served)
  const { port } = new URL(served.url)
  const ask = (path: string, headers: Record<string, string | string[]>) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      send({ host: '127.0.0.1', port, path, headers, agent: false }, resolve)
        .on('error', reject)
        .end()
    })
  return { requests, ask }
}

it.each([
  ['/a?b=1', 'app.example:80', 'http://app.example/a?b=1'],
  ['//a', 'app.example', 'http://app.example//a'],
  ['http://elsewhere.example/a', 'app.example', 'http://elsewhere.example/a'],
  // A host that would move the path.
  ['/a', 'app.example/b?', 'http://localhost/a'],
  ['/a', 'user@app.example', 'http://localhost/a'],
])('the URL of %s at %s is %s', async (path, host, url) => {
  const { requests, ask } = await noting()
  await ask(path, { host, 'x-tenant': 'acme' })
  expect(requests.map((request) => request.url)).toEqual([url])
})

it('of a repeated Authorization header, the first one counts, as for the app', async () => {
  const { requests, ask } = await noting()
  await ask('/', { authorization: ['Bearer first', 'Bearer second'], accept: ['a/b', 'c/d'] })
  const [request] = requests
  expect(request?.headers.get('authorization')).toBe('Bearer first')
  expect(request?.headers.get('accept')).toBe('a/b, c/d')
})

it('limits HTTP/2 requests, too', async () => {
  const limit = rateLimit(perMinute(1), { subject })
  const server = createHttp2Server((req, res) => {
    limit(req as never, res as never, () => res.end('answer'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connect(`http://127.0.0.1:${port}`)
  try {
    const statuses = []
    for (let time = 0; time < 2; time += 1) {
      const stream = client.request({ ':path': '/', 'x-tenant': 'acme' })
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
      statuses.push([headers[':status'], headers['x-ratelimit-remaining']])
      stream.resume()
      await once(stream, 'end')
    }
    expect(statuses).toEqual([
      [200, '0'],
      [429, '0'],
    ])
  } finally {
    client.close()
    server.close()
  }
})

it('holds no slot for a client that was gone before, and runs no handler', async () => {
  const rpm = fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })
  const inFlight = concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })
  const { limiter } = setUpAtMidnight(rpm, inFlight)
  const handled = vi.fn<(req: IncomingMessage, res: ServerResponse) => void>((_, res) => {
    res.end()
  })
  const app = express()
  const arrived = new Promise<void>((resolve) => {
    app.use((req, res, next) => {
      if (!req.headers['x-leaving']) next()
      else {
        res.once('close', () => next())
        resolve()
      }
    })
  })
  app.use(rateLimit(limiter, { subject, cost: reserving(1) }), handled)
  const served = await listen(createServer(app))
  running.push(served)
  const client = new AbortController()
  const headers = { 'x-tenant': 'acme', 'x-leaving': 'yes' }
  const answer = fetch(served.url, { headers, signal: client.signal }).catch(() => undefined)
  await arrived
  client.abort()
  await answer
  const left = async () =>
    (await limiter.peek(ACME, { cost: { request: 0, call: 0 } })).policies.map(
      ({ remaining }) => remaining,
    )
  await expect.poll(left, PATIENTLY).toEqual([8, 1])
  // It takes longer than what may be left of the other.
  await (await fetch(served.url, { headers: { 'x-tenant': 'acme' } })).text()
  expect(handled).toHaveBeenCalledOnce()
})
