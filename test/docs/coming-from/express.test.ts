import { get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { rateLimit as limitExpress, type RateLimitOptions } from '@sluice/adapters/express'
import type { Limiter } from '@sluice/core'
import express, { type Express } from 'express'
import { MemoryStore, rateLimit, type Options } from 'express-rate-limit'
import { afterEach, describe, expect, it } from 'vitest'
import { at, block, BROKEN, cleanUp, member, requestFrom, source, stillClock } from './page.ts'

interface OnExpress {
  readonly limitApi: (app: Express, limiter: Limiter, options: RateLimitOptions) => void
}

interface ExpressBlock {
  readonly limiter: Limiter
  readonly options: RateLimitOptions
  readonly serve: (request: Request) => Promise<Response>
}

cleanUp()
stillClock()

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

const MINUTE = 60_000
const WINDOW = 15 * MINUTE
const [A, B] = ['192.0.2.7', '198.51.100.9']

/** Two clients' requests by the milliseconds after midnight: three windows, which begin for both with the clock's. */
const SEQUENCE: (readonly [ms: number, client: string])[] = []
for (const start of [0, WINDOW, 2 * WINDOW]) {
  SEQUENCE.push([start, A], [start, B])
  // More than the limit of the one, and less of the other.
  for (let sent = 0; sent < 120; sent += 1) SEQUENCE.push([start + sent * 1_900, A])
  for (let sent = 0; sent < 40; sent += 1) SEQUENCE.push([start + 700_000 + sent * 250, B])
  SEQUENCE.push([start + WINDOW - 1, A])
}

describe('express-rate-limit', () => {
  it('lets the same requests pass, with the same headers, status and body', async () => {
    const { serve } = await block<ExpressBlock>('express')
    const ask = await listen(theirs())
    const answers = await answersOf(ask)
    expect(await answersOf(serve)).toEqual(answers)
    expect(answers).toContainEqual(expect.objectContaining({ status: 429, client: A }))
  })

  it('matches the same inside Express', async () => {
    const { limiter, options } = await block<ExpressBlock>('express')
    const { limitApi } = await block<OnExpress>('express-app')
    const [ask, askOurs] = [
      await listen(theirs()),
      await listen((app) => limitApi(app, limiter, options)),
    ]
    expect(await answersOf(askOurs)).toEqual(await answersOf(ask))
  })

  it.each(['//api/search', '/API/search/', 'http://elsewhere/api/search'])(
    'is not bypassed inside Express by a request for %s',
    async (path) => {
      const { limiter, options } = await block<ExpressBlock>('express')
      await listen((app) => void app.use(limitExpress(limiter, options)))
      const port = portOf(servers.at(-1) as Server)
      const { headers } = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = { 'x-forwarded-for': A, connection: 'close' }
        get({ port, path, headers: sent }, resolve).on('error', reject)
      })
      expect(headers['x-ratelimit-remaining']).toBe('99')
    },
  )

  it('skips the same requests as `skip`', async () => {
    const { serve } = await block<ExpressBlock>('express')
    const ask = await listen(theirs())
    const request = requestFrom('203.0.113.5')
    for (let sent = 0; sent < 105; sent += 1) {
      const answer = await numbersOf(await ask(request))
      expect(await numbersOf(await serve(request))).toEqual(answer)
      expect(answer.status).toBe(200)
    }
  })

  it('lets requests pass when the store fails, with `passOnStoreError`', async () => {
    const { serve } = await block<ExpressBlock>('express', { store: BROKEN })
    const store = new MemoryStore()
    store.increment = () => Promise.reject(new Error('down'))
    const ask = await listen(theirs({ store, logger: { warn: () => {}, error: () => {} } }))
    const request = requestFrom(A)
    expect(await numbersOf(await serve(request))).toEqual(await numbersOf(await ask(request)))
  })

  it('leaves other paths alone', async () => {
    const { serve } = await block<ExpressBlock>('express')
    const ask = await listen(theirs())
    const request = requestFrom(A, '/elsewhere')
    expect(await numbersOf(await serve(request))).toEqual(await numbersOf(await ask(request)))
  })

  it('begins its windows with a client, and Sluice with the clock, as the page says', async () => {
    const { serve } = await block<ExpressBlock>('express')
    const ask = await listen(theirs())
    const request = requestFrom(A)
    at(14 * MINUTE)
    for (let sent = 0; sent < 100; sent += 1) await Promise.all([ask(request), serve(request)])
    at(15 * MINUTE)
    expect([(await ask(request)).status, (await serve(request)).status]).toEqual([429, 200])
  })
})

type Ask = (request: Request) => Promise<Response>

/** An Express app with what `setUp` puts in it, and a way to ask it. */
async function listen(setUp: (app: Express) => void): Promise<Ask> {
  const app = express()
  setUp(app)
  app.use((_, response) => void response.send('answer'))
  const server = app.listen(0, '127.0.0.1')
  servers.push(server)
  await new Promise((resolve) => server.once('listening', resolve))
  return ({ url, headers }) =>
    fetch(`http://127.0.0.1:${portOf(server)}${new URL(url).pathname}`, { headers })
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

/** Sets an app up as the page does, perhaps with more options. */
function theirs(more: Partial<Options> = {}): (app: Express) => void {
  // eslint-disable-next-line no-new-func, typescript/no-implied-eval -- the page's own block
  const setUp = new Function('app', 'rateLimit', source('app.js'))
  return (app) => {
    setUp(app, (options: Partial<Options>) => rateLimit({ ...options, ...more }))
  }
}

/** The whole sequence, and what was answered. */
async function answersOf(ask: Ask): Promise<object[]> {
  const answers = []
  for (const [ms, client] of SEQUENCE) {
    at(ms)
    answers.push({ ms, client, ...(await numbersOf(await ask(requestFrom(client)))) })
  }
  return answers
}

/** The numbers in each header of an answer, in whatever syntax. */
async function numbersOf(response: Response) {
  const { status, headers } = response
  const legacy = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))
  const policy = member(headers.get('ratelimit-policy'), 'api')
  const state = member(headers.get('ratelimit'), 'api')
  return {
    status,
    legacy,
    retryAfter: headers.get('retry-after'),
    policy: [policy?.get('q'), policy?.get('w')],
    state: [state?.get('r'), state?.get('t')],
    body: await response.text(),
  }
}
