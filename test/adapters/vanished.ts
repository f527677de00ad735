import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2'
import { setImmediate } from 'node:timers/promises'
import { concurrency, createLimiter } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { subject } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { http1, type Http1Connection } from './connections.ts'
import { createApp, type Serve } from './support.ts'

/** Requests on one connection: more than the listeners that Node.js lets an emitter have. */
const REQUESTS = 15

/** For a server to notice. */
const PATIENCE = { interval: 1, timeout: 10_000 }

const ANSWERS = {
  small: { path: '/api/ai/chat', stream: undefined },
  silent: { path: '/api/ai/stream', stream: () => new ReadableStream<Uint8Array>() },
  endless: {
    path: '/api/ai/stream',
    stream: () =>
      new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(new Uint8Array(20_000)) }),
  },
}
type Kind = keyof typeof ANSWERS

/** The habits of a framework, as in the options of the cases. */
interface Framework {
  readonly waitsForReaders: boolean
  readonly listensPerRequest: boolean
}

/**
 * Holds an adapter to it, on the framework's real server, that a slot comes free if its client is gone before the
 * decision returns, or before its response has had its turn on the connection.
 */
export function vanishedCases(
  serve: Serve,
  serveHttp2: Serve | undefined,
  { waitsForReaders, listensPerRequest }: Framework,
): void {
  const closing: (() => unknown)[] = []
  afterEach(() => {
    for (const close of closing.splice(0).toReversed()) close()
  })

  /** Serves an app whose decisions wait until `decide` is called. */
  async function start(serveApp: Serve, kind: Kind) {
    const store = memory()
    const decided = defer()
    let asked = 0
    const limiter = createLimiter({
      store: {
        ...store,
        async check(...request) {
          asked += 1
          await decided.promise
          return store.check(...request)
        },
      },
      policies: [concurrency({ name: 'in-flight', limit: REQUESTS, per: ['tenant'] })],
    })
    const signals: AbortSignal[] = []
    const { path, stream = () => new ReadableStream<Uint8Array>() } = ANSWERS[kind]
    const streams = vi.fn<() => ReadableStream<Uint8Array>>(stream)
    const answered = defer()
    const settle = vi.fn<() => Promise<string>>(async () => {
      await answered.promise
      return 'settled'
    })
    const options = {
      cost: reserving(1),
      subject(request: Request) {
        signals.push(request.signal)
        return subject(request)
      },
    }
    const served = await serveApp(createApp(limiter, { options, stream: streams, settle }))
    // Not awaited: a server that has lost a stream never closes.
    closing.push(() => void served.close())
    const peek = async () => {
      const { policies } = await limiter.peek(ACME, { cost: { call: 0 } })
      return REQUESTS - (policies[0]?.remaining ?? 0)
    }
    return {
      url: served.url,
      path,
      signals,
      decide: decided.resolve,
      isAsked: () => vi.waitUntil(() => asked === REQUESTS, PATIENCE),
      isHandled: () =>
        vi.waitUntil(
          () => streams.mock.calls.length + settle.mock.calls.length === REQUESTS,
          PATIENCE,
        ),
      answer: answered.resolve,
      isGone: () => vi.waitUntil(() => signals.every(({ aborted }) => aborted), PATIENCE),
      /** Waits until all slots are free. Returns how many never are. */
      held: async (): Promise<number> => {
        // A slot is taken before its handler runs.
        for (let turn = 0; turn < 20; turn += 1) await setImmediate()
        const isFree = async () => (await peek()) === 0
        await vi.waitUntil(isFree, { interval: 5, timeout: 10_000 }).catch(() => undefined)
        return peek()
      },
    }
  }

  /** Sends requests in a row on one connection. */
  async function sendInRow(url: string, path: string): Promise<Http1Connection> {
    const { open, close } = http1(url)
    const connection = await open()
    closing.push(close, connection.reset)
    connection.send({ path, headers: { 'x-tenant': 'acme' }, body: '' }, REQUESTS)
    return connection
  }

  /** Sends requests on one connection of HTTP/2. Their bodies begin, if they are open, and do not end. */
  function sendAtOnce(url: string, path: string, isOpen: boolean): ClientHttp2Session {
    const session = connectHttp2(url)
    session.on('error', () => {})
    closing.push(() => session.destroy())
    const headers = { ':method': 'POST', ':path': path, 'x-tenant': 'acme' }
    for (let sent = 0; sent < REQUESTS; sent += 1) {
      const stream = session.request(
        isOpen ? { ...headers, 'content-type': 'text/plain' } : headers,
        { endStream: !isOpen },
      )
      stream.on('error', () => {})
      if (isOpen) stream.write('begun')
    }
    return session
  }

  const KINDS = (Object.keys(ANSWERS) as Kind[]).filter(
    (kind) => waitsForReaders || kind !== 'endless',
  )

  describe(`of ${REQUESTS} slots of a client that is gone before the decision, none is lost`, () => {
    it.runIf(serveHttp2).each(KINDS)('over HTTP/2: %s', async (kind) => {
      const { url, path, decide, isAsked, isGone, held } = await start(serveHttp2 as Serve, kind)
      const session = sendAtOnce(url, path, true)
      await isAsked()
      session.destroy(new Error('gone'), constants.NGHTTP2_INTERNAL_ERROR)
      await isGone()
      decide()
      expect(await held()).toBe(0)
    })

    it.each(KINDS)('with requests in a row: %s', async (kind) => {
      const { url, path, decide, isAsked, held } = await start(serve, kind)
      const { reset, closed } = await sendInRow(url, path)
      await isAsked()
      reset()
      await closed()
      decide()
      expect(await held()).toBe(0)
    })
  })

  it.runIf(serveHttp2)(
    `of ${REQUESTS} slots of a client that is gone while its handler runs, none is lost`,
    async () => {
      const app = await start(serveHttp2 as Serve, 'small')
      const session = sendAtOnce(app.url, '/api/ai/settle', false)
      app.decide()
      await app.isHandled()
      session.destroy(new Error('gone'), constants.NGHTTP2_INTERNAL_ERROR)
      await app.isGone()
      app.answer()
      expect(await app.held()).toBe(0)
    },
  )

  it.each(KINDS.filter((kind) => kind !== 'small'))(
    `of ${REQUESTS} slots whose responses wait for the first on their connection, none is lost: %s`,
    async (kind) => {
      const { url, path, decide, isHandled, held } = await start(serve, kind)
      const { reset } = await sendInRow(url, path)
      decide()
      await isHandled()
      reset()
      expect(await held()).toBe(0)
    },
  )

  it('answers requests in a row, warns of nothing and aborts no signal', async () => {
    const warn = vi.spyOn(process, 'emitWarning')
    const { url, path, decide, isAsked, held, signals } = await start(serve, 'small')
    const { received, reset, closed } = await sendInRow(url, path)
    await isAsked()
    decide()
    const answers = () => received().split('HTTP/1.1 200').length - 1
    await vi.waitUntil(() => answers() === REQUESTS, PATIENCE)
    expect(await held()).toBe(0)
    reset()
    await closed()
    expect(signals.filter(({ aborted }) => aborted)).toHaveLength(0)
    expect(listensPerRequest ? [] : warn.mock.calls).toEqual([])
  })
}

/** A promise that the test resolves. */
function defer(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let settle: (() => void) | undefined
  const promise = new Promise<void>((resolve) => (settle = resolve))
  return { promise, resolve: () => settle?.() }
}
