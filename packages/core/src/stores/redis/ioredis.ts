/* Sending of one Redis command through a client of `ioredis`. */
import type { ConfigError } from '../../errors.ts'
import {
  clientError,
  failureOf,
  notConnected,
  withinSafe,
  type NodeTransport,
  type ReportingClient,
} from './transport.ts'

/** The part of an `ioredis` client that the store needs. */
export interface IoredisClient extends ReportingClient {
  readonly status: string
  readonly options: {
    readonly maxRetriesPerRequest?: number | null | undefined
    readonly autoResendUnfulfilledCommands?: boolean | undefined
    readonly stringNumbers?: boolean | undefined
  }
  call(command: string, args: (string | number)[]): Promise<unknown>
  connect(): Promise<void>
  on(event: ConnectionEvent | 'error' | 'node error', listener: (error: Error) => void): unknown
  off(event: ConnectionEvent, listener: () => void): unknown
}

/** The events that end a first attempt to connect. */
type ConnectionEvent = 'ready' | 'close'

export function isIoredis(client: unknown): client is IoredisClient {
  const { call, connect, status, options } = (client ?? {}) as Partial<IoredisClient>
  return (
    typeof call === 'function' &&
    typeof connect === 'function' &&
    typeof status === 'string' &&
    typeof options === 'object'
  )
}

/** The states of a client on its way to a first connection. */
const CONNECTING = new Set(['wait', 'connecting', 'connect'])

/** @throws ConfigError When the client's options make it send commands twice, or numbers as text. */
export function assertSendsOnce(
  { maxRetriesPerRequest, autoResendUnfulfilledCommands, stringNumbers }: IoredisClient['options'],
  invalid: (reason: string) => ConfigError,
): void {
  if (maxRetriesPerRequest !== 0 && autoResendUnfulfilledCommands !== false) {
    throw invalid(
      'sends a command again when the connection is lost, and each may be charged; create it with ' +
        'maxRetriesPerRequest: 0, or pass client.duplicate({ maxRetriesPerRequest: 0 })',
    )
  }
  if (stringNumbers) throw invalid('must be created without stringNumbers')
}

/**
 * Creates a transport through an `ioredis` client. A command waits for the connection outside the client's
 * queue, from which it could not be taken back at the deadline.
 */
export function ioredisTransport(client: IoredisClient): NodeTransport {
  const connected = connectionOf(client)
  failureOf(client)
  return async ([name, ...args], signal, asking) => {
    const failure = failureOf(client)
    try {
      if (CONNECTING.has(client.status)) await connected(signal)
      if (client.status !== 'ready' || signal.aborted) throw failure.last ?? notConnected()
      // If it fails, the reply to the command says so.
      if (asking) client.call('ASKING', []).catch(() => {})
      const reply = await client.call(String(name), args)
      failure.last = undefined
      return withinSafe(reply)
    } catch (error) {
      throw clientError(error)
    }
  }
}

/**
 * Returns a function that waits until the client is ready, its attempt to connect has failed, or the signal aborts.
 * It listens instead of sending a command, which the user of the connection might not be allowed to run. One listener
 * serves all callers, because Node.js warns of more than ten.
 */
function connectionOf(client: IoredisClient): (signal: AbortSignal) => Promise<void> {
  const waiting = new Set<() => void>()

  function wakeAll(): void {
    client.off('ready', wakeAll)
    client.off('close', wakeAll)
    for (const wake of waiting) wake()
    waiting.clear()
  }

  return (signal) =>
    new Promise((resolve) => {
      if (waiting.size === 0) {
        client.on('ready', wakeAll)
        client.on('close', wakeAll)
      }
      waiting.add(resolve)
      signal.addEventListener('abort', () => {
        resolve()
        if (waiting.delete(resolve) && waiting.size === 0) wakeAll()
      })
      // A failure closes the connection, which wakes all.
      if (client.status === 'wait') client.connect().catch(() => {})
    })
}
