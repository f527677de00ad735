import { once } from 'node:events'
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
} from 'node:http2'
import { connect as connectTcp, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { concurrency, createLimiter } from '@sluice/core'
import { reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { subject } from '../core/http/support.ts'
import { ACME } from '../support/limiters.ts'
import { createApp, type App, type Serve } from './support.ts'

/** Requests for each kind of answer: five hundred for each way to leave them. */
const REQUESTS = 100

/** Bytes of an answer that a client takes before it reads any. */
const WINDOW = 1_000

const CHUNK = new Uint8Array(WINDOW / 2)
/** More than a server holds back. */
const CHUNKS = 64

interface Answer {
  readonly route: 'chat' | 'stream'
  readonly parts: Partial<App>
  /** Its length for a client that reads it. */
  readonly bytes: number
}

/** Kinds of answers. */
const ANSWERS = {
  empty: { route: 'chat', parts: { chat: () => '' }, bytes: 0 },
  small: { route: 'chat', parts: { chat: () => 'chat' }, bytes: 4 },
  large: { route: 'chat', parts: { chat: () => 'x'.repeat(4 * WINDOW) }, bytes: 4 * WINDOW },
  streamed: {
    route: 'stream',
    parts: { stream: () => streamOf(CHUNKS) },
    bytes: CHUNKS * CHUNK.length,
  },
  endless: { route: 'stream', parts: { stream: () => streamOf(Infinity) }, bytes: Infinity },
} as const satisfies Readonly<Record<string, Answer>>

type Kind = keyof typeof ANSWERS
const KINDS = Object.keys(ANSWERS) as Kind[]

/** A client with a connection of its own. */
interface Client {
  readonly session: ClientHttp2Session
  readonly socket: Socket
  readonly streams: readonly ClientHttp2Stream[]
}

interface RequestForm {
  /** @default 'POST' */
  readonly method?: 'GET' | 'POST'
  /** True if the client has not sent the end of its request yet. @default false */
  readonly isOpen?: boolean
  readonly body?: string
}

interface Way extends RequestForm {
  readonly name: string
  readonly leave: (client: Client) => void
}

const reset =
  (code: number) =>
  ({ streams }: Client) => {
    for (const stream of streams) stream.close(code)
  }

const WAYS: readonly Way[] = [
  { name: 'a reset with NO_ERROR', leave: reset(constants.NGHTTP2_NO_ERROR) },
  { name: 'a reset with CANCEL', leave: reset(constants.NGHTTP2_CANCEL) },
  {
    name: 'a reset with NO_ERROR before the end of the request',
    isOpen: true,
    leave: reset(constants.NGHTTP2_NO_ERROR),
  },
  {
    name: 'a reset with NO_ERROR and a body that no handler reads',
    body: JSON.stringify('x'.repeat(500)),
    leave: reset(constants.NGHTTP2_NO_ERROR),
  },
  {
    name: 'a GOAWAY, and the end of the session',
    leave({ session }) {
      session.goaway(constants.NGHTTP2_NO_ERROR)
      session.destroy()
    },
  },
  { name: 'the end of the session', leave: ({ session }) => session.destroy() },
  { name: 'the end of the connection', leave: ({ socket }) => void socket.destroy() },
]

/** How an adapter is served here, if it is not as for the other cases. */
export interface Http2Options {
  /** The kinds of answers. @default all */
  readonly kinds?: readonly Kind[]
  /** The path of a route. @default below `/api/ai` */
  readonly pathOf?: (route: string) => string
  /** True if requests without a body have the type of one, too. @default false */
  readonly isTyped?: boolean
  /** The method of requests whose answers are read. @default 'GET' */
  readonly methodOfReads?: 'GET' | 'POST'
  /** The bytes around the handler's answer. @default 0 */
  readonly envelope?: number
}

/**
 * Holds an adapter to it, on the framework's real server over HTTP/2 without TLS, that a slot comes free with its
 * stream, however its client leaves.
 */
export function http2Cases(
  serve: Serve,
  {
    kinds = KINDS,
    pathOf = (route) => `/api/ai/${route}`,
    isTyped = false,
    methodOfReads = 'GET',
    envelope = 0,
  }: Http2Options = {},
): void {
  /** Sends requests for one kind of answer. */
  async function open(kind: Kind, { isOpen = false, body, method = 'POST' }: RequestForm = {}) {
    const { route, parts } = ANSWERS[kind]
    const inFlight = concurrency({ name: 'in-flight', limit: REQUESTS, per: ['tenant'] })
    const limiter = createLimiter({ store: memory(), policies: [inFlight] })
    const signals: AbortSignal[] = []
    const options = {
      cost: reserving(1),
      subject(request: Request) {
        signals.push(request.signal)
        return subject(request)
      },
    }
    const served = await serve(createApp(limiter, { ...parts, options }))
    const socket = connectTcp(Number(new URL(served.url).port), '127.0.0.1')
    const settings = { initialWindowSize: WINDOW }
    const session = connectHttp2(served.url, { settings, createConnection: () => socket })
    for (const emitter of [socket, session]) emitter.on('error', () => {})
    const headers = {
      ':method': method,
      ':path': pathOf(route),
      'x-tenant': 'acme',
      ...((isTyped || body !== undefined) && { 'content-type': 'application/json' }),
    }
    const endStream = !isOpen && body === undefined
    const streams = Array.from({ length: REQUESTS }, () => {
      const stream = session.request(headers, { endStream })
      stream.on('error', () => {})
      if (body !== undefined) stream.end(body)
      return stream
    })
    const answers = await Promise.all(streams.map((stream) => once(stream, 'response')))
    expect(answers.map(([{ ':status': status }]) => status)).toEqual(Array(REQUESTS).fill(200))
    return {
      client: { session, socket, streams },
      signals,
      /** Waits until all slots are free. Returns how many never are. */
      lost: async (): Promise<number> => {
        let lost = REQUESTS
        const areFree = async () => {
          const { policies } = await limiter.peek(ACME, { cost: { call: 0 } })
          lost = REQUESTS - (policies[0]?.remaining ?? 0)
          return lost === 0
        }
        await vi.waitUntil(areFree, { timeout: 10_000, interval: 5 }).catch(() => undefined)
        session.destroy()
        // Not awaited: a server that has lost a stream never closes.
        void served.close()
        return lost
      },
    }
  }

  const none = Object.fromEntries(kinds.map((kind) => [kind, 0]))

  describe(`of ${REQUESTS} slots for each kind of answer that nobody reads, none is lost`, () => {
    it.each(WAYS)('to $name', async ({ leave, ...way }) => {
      const lost: Partial<Record<Kind, number>> = {}
      for (const kind of kinds) {
        const answers = await open(kind, way)
        leave(answers.client)
        lost[kind] = await answers.lost()
      }
      expect(lost).toEqual(none)
    })
  })

  // GET: @hono/node-server cuts a long answer to a POST whose body no handler reads.
  it.each(kinds.filter((kind) => ANSWERS[kind].route === 'chat'))(
    'sends an answer to its end, and aborts no signal: %s',
    async (kind) => {
      const { client, lost, signals } = await open(kind, { method: methodOfReads })
      const texts = await Promise.all(client.streams.map((stream) => buffer(stream)))
      const bytes = ANSWERS[kind].bytes + envelope
      expect(texts.map(({ length }) => length)).toEqual(Array(REQUESTS).fill(bytes))
      expect(await lost()).toBe(0)
      expect(signals.filter(({ aborted }) => aborted)).toHaveLength(0)
    },
  )
}

/** Streams so many chunks. */
function streamOf(chunks: number): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream({
    pull(controller) {
      // A copy, because some servers take a chunk's memory away.
      controller.enqueue(CHUNK.slice())
      sent += 1
      if (sent === chunks) controller.close()
    },
  })
}
