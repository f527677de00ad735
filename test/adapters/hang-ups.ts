import { setImmediate } from 'node:timers/promises'
import { createLimiter, fixedWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { subject } from '../core/http/support.ts'
import { http1, http2, type Connection, type Message, type Transport } from './connections.ts'
import { createApp, type Serve } from './support.ts'
import { PATIENTLY } from '../support/patience.ts'

/** Refused requests for each way to hang up: half of them are denied, the others have no subject. */
const REQUESTS = 400
/** Those of them that are sent at once. */
const BATCH = 50

/** Connections on which requests have been sent. */
interface Batch {
  readonly connections: readonly Connection[]
  /** Waits until the decision on each request waits: for the store, or for the subject. */
  readonly held: () => Promise<void>
  /** Lets the decisions go on. */
  readonly release: () => void
}

interface Way {
  readonly name: string
  /** Requests that are sent at once on one connection. @default 1 */
  readonly inRow?: number
  /** Bytes that are sent with the request, behind its end. @default none */
  readonly trailing?: string
  readonly hangUp: (batch: Batch) => Promise<void>
}

const WAYS: readonly Way[] = [
  {
    name: 'as soon as it is sent',
    async hangUp({ connections, release }) {
      release()
      await resetInTurn(connections)
    },
  },
  { name: 'while it is decided', hangUp: resetWhileHeld },
  { name: 'while it is decided, with others behind it', inRow: 5, hangUp: resetWhileHeld },
  {
    name: 'when it has been decided',
    async hangUp({ connections, held, release }) {
      await held()
      release()
      await resetInTurn(connections)
    },
  },
  {
    name: 'by closing its half of the connection',
    async hangUp({ connections, held, release }) {
      await held()
      for (const { end } of connections) end()
      await allClosed(connections)
      release()
    },
  },
  {
    name: 'by bytes behind the end of the request',
    trailing: 'xx',
    async hangUp({ connections, release }) {
      release()
      await allClosed(connections)
    },
  },
  {
    name: 'by bytes behind the end of the request, while it is decided',
    trailing: 'xx',
    async hangUp({ connections, release }) {
      await allClosed(connections)
      release()
    },
  },
]

async function resetWhileHeld({ connections, held, release }: Batch): Promise<void> {
  await held()
  for (const { reset } of connections) reset()
  await allClosed(connections)
  release()
}

/** Resets connections after none to nine turns of the event loop. */
async function resetInTurn(connections: readonly Connection[]): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    connections.forEach(({ reset }, index) => index % 10 === turn && reset())
    await setImmediate()
  }
  await allClosed(connections)
}

const allClosed = (connections: readonly Connection[]) =>
  Promise.all(connections.map(({ closed }) => closed()))

/** The request of the cases: to the handler `chat`, which has no body. */
const CHAT: Message = { path: '/api/ai/chat', headers: {}, body: '' }

/** How an adapter is served here, if it is not as for the other cases. */
export interface HangUpOptions {
  /** The request to the handler `chat`. @default `POST /api/ai/chat` without a body */
  readonly message?: Message
  /** Serves the app over HTTP/2, without TLS. @default the framework does not speak it */
  readonly serveHttp2?: Serve | undefined
}

/**
 * Holds an adapter to it, on the framework's real server, that a refused request never runs its handler, however
 * its client hangs up.
 */
export function hangUpCases(
  serve: Serve,
  { message = CHAT, serveHttp2 }: HangUpOptions = {},
): void {
  describe(`of ${REQUESTS} refused requests whose clients hang up, none runs its handler`, () => {
    it.each(WAYS)('$name', async (way) => {
      expect(await countRuns(serve, http1, way, message)).toBe(0)
    })

    it.runIf(serveHttp2)('by resetting their streams of HTTP/2', async () => {
      const way = { name: 'reset', hangUp: resetWhileHeld }
      expect(await countRuns(serveHttp2 as Serve, http2, way, message)).toBe(0)
    })
  })
}

/** Sends refused requests whose clients hang up in one way. Returns how often the handler has run for them. */
async function countRuns(
  serve: Serve,
  transport: Transport,
  { inRow = 1, trailing = '', hangUp }: Way,
  message: Message,
): Promise<number> {
  const { app, runs, gate } = createHeldApp()
  const served = await serve(app)
  const { open, close } = transport(served.url)
  const acme = { ...message, headers: { ...message.headers, 'x-tenant': 'acme' } }
  /** Sends one request, and waits for its answer. */
  const ask = async (request: Message): Promise<void> => {
    const connection = await open()
    connection.send(request)
    await connection.answered()
    connection.reset()
  }
  try {
    await ask(acme)
    expect(runs(), 'for the one request that is allowed').toBe(1)
    for (const request of [acme, message]) {
      for (let sent = 0; sent < REQUESTS / 2; sent += BATCH) {
        gate.close()
        const connections = await Promise.all(Array.from({ length: BATCH / inRow }, open))
        for (const { send } of connections) send(request, inRow, trailing)
        const isHeld = () => gate.waiting() === BATCH
        const held = async () => void (await vi.waitUntil(isHeld, { ...PATIENTLY, interval: 1 }))
        await hangUp({ connections, held, release: gate.open })
      }
      // It takes as long as those before it, which are over after it.
      await ask(request)
      await ask(request)
    }
    return runs() - 1
  } finally {
    gate.open()
    close()
    await served.close()
  }
}

/** Lets through, or holds until it is opened. */
function createGate() {
  let waiting = 0
  let open: (() => void) | undefined
  let opened = Promise.resolve()
  return {
    close() {
      waiting = 0
      opened = new Promise((resolve) => (open = resolve))
    },
    open: () => open?.(),
    waiting: () => waiting,
    async pass(): Promise<void> {
      waiting += 1
      await opened
    },
  }
}

/** An app that allows acme one request, and whose decisions wait at a gate: for the store, or to find nobody. */
function createHeldApp() {
  const gate = createGate()
  const store = memory()
  const limiter = createLimiter({
    store: {
      ...store,
      async check(...request) {
        await gate.pass()
        return store.check(...request)
      },
    },
    policies: [fixedWindow({ name: 'rpm', limit: 1, window: '366d', per: ['tenant'] })],
    onStoreError: 'deny',
  })
  const chat = vi.fn<() => string>(() => 'chat')
  const options = {
    async subject(request: Request) {
      const found = subject(request)
      if (found === null) await gate.pass()
      return found
    },
  }
  return { app: createApp(limiter, { chat, options }), runs: () => chat.mock.calls.length, gate }
}
