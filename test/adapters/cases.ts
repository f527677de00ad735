import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  slidingWindow,
  type Cost,
  type Limiter,
} from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { reserving, type ChargingCost } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { waiting, waitingLine } from '@sluice/core/waiting'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { setUpAtMidnight, perMinute, subject } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { PATIENTLY } from '../support/patience.ts'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { denialIdCases } from './denial-ids.ts'
import { hangUpCases } from './hang-ups.ts'
import { http2Cases } from './http2.ts'
import { vanishedCases } from './vanished.ts'
import { createApp, holdTimers, storeDown, type App, type Serve, type Served } from './support.ts'

/** Ways to write `/api/ai/chat` that a framework routes to one handler. */
export interface CaseOptions {
  readonly spellings: readonly string[]
  /** Serves an app over HTTP/2, without TLS. @default the framework does not speak it */
  readonly serveHttp2?: Serve
  /**
   * The status of each answer to HEAD, and the requests that are left: to nobody, to the first request of acme, and
   * to one that is denied. @default as for GET
   */
  readonly headAnswers?: readonly (readonly [status: number, remaining: string | null])[]
  /** False for an adapter without the option `onDenied`. @default true */
  readonly hasOnDenied?: boolean
  /** False for a framework that reads a stream as fast as it comes, and so an endless one for ever. @default true */
  readonly waitsForReaders?: boolean
  /** True for a framework that listens to a connection once for each request, of which Node.js warns. @default false */
  readonly listensPerRequest?: boolean
}

const HEAD_ANSWERS = [
  [401, null],
  [200, '0'],
  [429, '0'],
] as const

/** Options whose functions fail, with an error and without one. */
const FAILING: Record<string, object> = {
  subject: { subject: () => Promise.reject<null>(undefined) },
  cost: { cost: () => -1 },
  'a cost that throws': { cost: () => Promise.reject(new Error('no cost')) },
  onDenied: { onDenied: () => Promise.reject(new Error('no answer')) },
}

/** The cases that every adapter is held to, on the framework's real server. */
export function adapterCases(
  serve: Serve,
  {
    spellings,
    serveHttp2,
    headAnswers = HEAD_ANSWERS,
    hasOnDenied = true,
    waitsForReaders = true,
    listensPerRequest = false,
  }: CaseOptions,
): void {
  const running: Served[] = []
  afterEach(async () => {
    vi.restoreAllMocks()
    await Promise.all(running.splice(0).map((served) => served.close()))
  })

  /** Serves an app. Returns a function that sends a request of acme to a path. */
  async function start(limiter: Limiter, parts: Partial<App> = {}) {
    const served = await serve(createApp(limiter, parts))
    running.push(served)
    return (path = '/api/ai/chat', init: RequestInit = {}) =>
      fetch(served.url + path, { method: 'POST', headers: { 'x-tenant': 'acme' }, ...init })
  }

  hangUpCases(serve, { serveHttp2 })
  if (serveHttp2) http2Cases(serveHttp2)
  vanishedCases(serve, serveHttp2, { waitsForReaders, listensPerRequest })
  if (hasOnDenied) denialIdCases(serve)

  describe('limits', () => {
    it('adds the headers to allowed responses, and denies what is beyond the limit', async () => {
      const send = await start(perMinute(2))
      const answers = [await send(), await send(), await send()]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
      const remaining = answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))
      expect(remaining).toEqual(['1', '0', '0'])
      expect(answers[0]?.headers.get('ratelimit')).toBe('"rpm";r=1;t=60')
      expect(await answers[0]?.text()).toBe('chat')
      expect(answers[2]?.headers.get('retry-after')).toBe('60')
      expect(await answers[2]?.json()).toMatchObject({
        error: 'rate_limit_exceeded',
        message: 'This call may cost 1; 0 of 2 requests of policy "rpm" are left. Retry in 60 s.',
        policy: 'rpm',
      })
    })

    it('answers 402 without a wait where credits are used up, if that is chosen', async () => {
      const limiter = createLimiter({
        store: memory(),
        onStoreError: 'deny',
        policies: [
          credits({ name: 'credits', per: ['tenant'], unsettled: 'keep', unit: 'request' }),
        ],
      })
      const ask = await start(limiter, { options: { subject, spentStatus: 402 } })
      const { status, headers } = await ask()
      expect([status, headers.get('retry-after')]).toEqual([402, null])
      expect(headers.get('x-should-retry')).toBe('false')
    })

    it('answers 401 to a request without a subject, and charges nothing', async () => {
      const limiter = perMinute(2)
      const send = await start(limiter)
      const answer = await send('/api/ai/chat', { headers: {} })
      expect(answer.status).toBe(401)
      expect(await answer.json()).toMatchObject({ error: 'unauthenticated' })
      expect((await limiter.peek(ACME, { cost: 0 })).policies[0]?.remaining).toBe(2)
    })

    it('answers HEAD as it would answer GET, without a body', async () => {
      const chat = vi.fn<() => string>(() => 'chat')
      const send = await start(perMinute(1), { chat })
      const head = async (headers = {}) => {
        const answer = await send('/api/ai/chat', { method: 'HEAD', headers })
        expect(await answer.text()).toBe('')
        return [answer.status, answer.headers.get('x-ratelimit-remaining')]
      }
      const acme = { 'x-tenant': 'acme' }
      const answers = [await head(), await head(acme), await head(acme)]
      expect(answers).toEqual(headAnswers)
      expect(chat).toHaveBeenCalledTimes(headAnswers[1]?.[0] === 200 ? 1 : 0)
    })

    it('leaves other routes alone', async () => {
      const send = await start(perMinute(0))
      const answer = await send('/free', { headers: {} })
      expect([answer.status, await answer.text()]).toEqual([200, 'free'])
      expect(answer.headers.has('ratelimit')).toBe(false)
    })

    it('counts every spelling of a path that is routed to one handler on one budget', async () => {
      const policy = fixedWindow({ name: 'rpm', limit: 99, window: '1m', per: ['tenant', 'route'] })
      const send = await start(setUpAtMidnight(policy).limiter)
      const remaining = []
      for (const spelling of ['/api/ai/chat', ...spellings]) {
        const answer = await send(spelling)
        expect([spelling, answer.status, await answer.text()]).toEqual([spelling, 200, 'chat'])
        remaining.push(Number(answer.headers.get('x-ratelimit-remaining')))
      }
      expect(remaining).toEqual(remaining.map((_, index) => 98 - index))
      // Another route has a budget of its own.
      const other = await send('/api/ai/settle')
      expect(other.headers.get('x-ratelimit-remaining')).toBe('98')
    })

    it('carries on to the error handling of the framework, with the headers', async () => {
      const send = await start(perMinute(2))
      const answer = await send('/api/ai/fail')
      expect(answer.status).toBe(500)
      expect(answer.headers.get('x-ratelimit-remaining')).toBe('1')
    })

    it.each(Object.entries(FAILING).filter(([name]) => hasOnDenied || name !== 'onDenied'))(
      'answers 500 if %s fails, and does not go on',
      async (_, options) => {
        const chat = vi.fn<() => string>(() => 'chat')
        const send = await start(perMinute(0), { chat, options: { subject, ...options } })
        expect((await send()).status).toBe(500)
        expect(chat).not.toHaveBeenCalled()
        expect((await send('/free')).status).toBe(200)
      },
    )

    it('still limits without the store, each process by itself', async () => {
      const send = await start(storeDown(2))
      const statuses = []
      for (let time = 0; time < 3; time += 1) statuses.push((await send()).status)
      expect(statuses).toEqual([200, 200, 429])
    })
  })

  describe('on Redis', () => {
    const redis = sharedRedisOverHttp()

    it('denies exactly 5 of 25 concurrent requests at a limit of 20', async () => {
      const policy = slidingWindow({ name: 'rpm', limit: 20, window: '1h', per: ['tenant'] })
      const send = await start(redis.setUp([policy], { onStoreError: 'deny' }).limiter)
      const answers = await Promise.all(Array.from({ length: 25 }, () => send()))
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
      expect(statuses).toEqual([...Array(20).fill(200), ...Array(5).fill(429)])
    })
  })

  describe('a delay', () => {
    const shape = leakyBucket({
      name: 'shape',
      limit: 1,
      window: '1234ms',
      burst: 4,
      per: ['tenant'],
    })

    /** Holds a request until the test lets it go on, and counts the requests that are handled. */
    async function hold() {
      const delays = holdTimers(1_234)
      const chat = vi.fn<() => string>(() => 'chat')
      const { limiter } = setUpAtMidnight(shape, inFlight)
      const send = await start(limiter, { chat, options: { subject, cost: reserving(1) } })
      await (await send()).text()
      const client = new AbortController()
      const held = send('/api/ai/chat', { signal: client.signal, headers: { 'x-tenant': 'acme' } })
      await expect.poll(() => delays.length).toBe(1)
      expect(chat).toHaveBeenCalledTimes(1)
      return { held, client, chat, limiter, goOn: () => delays[0]?.() }
    }

    it('holds a request until its turn', async () => {
      const { held, chat, goOn } = await hold()
      goOn()
      expect((await held).status).toBe(200)
      expect(chat).toHaveBeenCalledTimes(2)
    })

    it('ends with its client, and the handler does not run', async () => {
      const { held, client, chat, limiter } = await hold()
      client.abort()
      await expect(held).rejects.toThrow(/abort/)
      await expect.poll(() => left(limiter, { call: 0 })).toEqual([2, 1])
      expect(chat).toHaveBeenCalledTimes(1)
    })
  })

  it('runs no handler for a client that is gone when its request is decided, and frees its slot', async () => {
    const chat = vi.fn<() => string>(() => 'chat')
    const rpm = fixedWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })
    const { limiter } = setUpAtMidnight(rpm, inFlight)
    const client = new AbortController()
    const leaving = async (request: Request) => {
      if (request.headers.has('x-leaving')) {
        client.abort()
        await vi.waitUntil(() => request.signal.aborted, PATIENTLY)
      }
      return subject(request)
    }
    const send = await start(limiter, { chat, options: { subject: leaving, cost: reserving(1) } })
    const headers = { 'x-tenant': 'acme', 'x-leaving': 'yes' }
    const gone = send('/api/ai/chat', { signal: client.signal, headers })
    await expect(gone).rejects.toThrow(/abort/)
    await expect.poll(() => left(limiter, { call: 0 }), PATIENTLY).toEqual([8, 1])
    // It takes longer than what may be left of the other.
    await (await send()).text()
    expect(chat).toHaveBeenCalledOnce()
  })

  describe('a line', () => {
    const lined = waitingLine(
      slidingWindow({ name: 'rpm', limit: 1, window: '1232ms', per: ['tenant'] }),
    )

    /** Holds a request in the line, and counts the requests that are handled. */
    async function hold(cost: ChargingCost) {
      const waits = holdTimers(1_234)
      const chat = vi.fn<() => string>(() => 'chat')
      const { limiter, clock } = setUpAtMidnight(lined)
      const send = await start(limiter, { chat, options: { subject, cost } })
      await (await send()).text()
      const client = new AbortController()
      const held = send('/api/ai/chat', { signal: client.signal, headers: { 'x-tenant': 'acme' } })
      await expect.poll(() => waits.length).toBe(1)
      expect(chat).toHaveBeenCalledTimes(1)
      clock.advance(1_234)
      return { held, client, chat, limiter, goOn: () => waits[0]?.() }
    }

    it.each([
      ['charged', waiting('5s')],
      ['reserved', waiting('5s', reserving(1))],
    ])('holds a request until it fits, and is %s', async (_, cost) => {
      const { held, chat, limiter, goOn } = await hold(cost)
      // It goes first.
      expect((await limiter.check(ACME)).violated?.name).toBe('rpm.line')
      goOn()
      expect((await held).status).toBe(200)
      expect(chat).toHaveBeenCalledTimes(2)
    })

    it('is left with its client, and the handler does not run', async () => {
      const { held, client, chat, limiter } = await hold(waiting('5s'))
      client.abort()
      await expect(held).rejects.toThrow(/abort/)
      await expect.poll(async () => (await limiter.peek(ACME)).allowed).toBe(true)
      expect(chat).toHaveBeenCalledTimes(1)
    })
  })

  describe('a reservation', () => {
    const tokens = fixedWindow({
      name: 'tpm',
      limit: 1_000,
      window: '366d',
      per: ['tenant'],
      unit: 'token',
    })
    const options = { subject, cost: reserving({ token: 100 }) }

    const create = (): Limiter => createLimiter({ store: memory(), policies: [inFlight, tokens] })

    it('is settled by the handler', async () => {
      const limiter = create()
      const send = await start(limiter, {
        options,
        async settle(reservation) {
          expect(await left(limiter)).toEqual([0, 900])
          await reservation.settle({ token: 30 })
          return 'settled'
        },
      })
      expect(await (await send('/api/ai/settle')).text()).toBe('settled')
      expect(await left(limiter)).toEqual([1, 970])
    })

    it('gives its slot back when the response ends, also if the handler throws', async () => {
      const limiter = create()
      const send = await start(limiter, { options })
      await (await send()).text()
      await expect.poll(() => left(limiter)).toEqual([1, 900])
      await (await send('/api/ai/fail')).text()
      await expect.poll(() => left(limiter)).toEqual([1, 800])
    })

    it('holds its slot until a stream ends, and leaves its bytes unchanged', async () => {
      const limiter = create()
      const { stream, push, end } = gradual()
      const send = await start(limiter, { options, stream })
      // Split within a character.
      push(Uint8Array.of(0x61, 0xc3))
      const answer = await send('/api/ai/stream')
      expect(answer.headers.get('x-ratelimit-remaining')).not.toBeNull()
      const reader = answer.body?.getReader()
      expect((await reader?.read())?.value).toEqual(Uint8Array.of(0x61, 0xc3))
      expect((await send()).status).toBe(429)
      push(Uint8Array.of(0xa9))
      expect((await reader?.read())?.value).toEqual(Uint8Array.of(0xa9))
      end()
      expect((await reader?.read())?.done).toBe(true)
      await expect.poll(() => left(limiter)).toEqual([1, 900])
    })

    it('gives its slot back when the client of a stream goes away', async () => {
      const limiter = create()
      const { stream, push } = gradual()
      const send = await start(limiter, { options, stream })
      push(Uint8Array.of(0x61))
      const client = new AbortController()
      const headers = { 'x-tenant': 'acme' }
      const answer = await send('/api/ai/stream', { headers, signal: client.signal })
      await answer.body?.getReader().read()
      expect(await left(limiter)).toEqual([0, 900])
      client.abort()
      await expect.poll(() => left(limiter)).toEqual([1, 900])
    })
  })
}

/** As `new Promise((_, reject) => verify(token, () => reject()))` does it. */
const inFlight = concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })

/** The units that are left in each policy. */
async function left(limiter: Limiter, cost: Cost = { token: 0, call: 0 }): Promise<number[]> {
  const { policies } = await limiter.peek(ACME, { cost })
  return policies.map(({ remaining }) => remaining)
}

/** A stream that the test writes to. */
function gradual() {
  let controller: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({
    start(control) {
      controller = control
    },
  })
  return {
    stream: () => body,
    push: (bytes: Uint8Array) => controller.enqueue(bytes),
    end: () => controller.close(),
  }
}
