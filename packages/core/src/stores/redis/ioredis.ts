/* Sending of one Redis command through a client of `ioredis`. */
import type { ConfigError } from '../../errors.ts'
import { clientError, notConnected, withinSafe, type NodeTransport } from './transport.ts'

/** The part of an `ioredis` client that the store needs. */
export interface IoredisClient {
  readonly status: string
  readonly options: {
    readonly maxRetriesPerRequest?: number | null | undefined
    readonly autoResendUnfulfilledCommands?: boolean | undefined
    readonly stringNumbers?: boolean | undefined
  }
  call(command: string, args: (string | number)[]): Promise<unknown>
  ping(): Promise<unknown>
}

export function isIoredis(client: unknown): client is IoredisClient {
  const { call, ping, status, options } = (client ?? {}) as Partial<IoredisClient>
  return (
    typeof call === 'function' &&
    typeof ping === 'function' &&
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
  let connected: Promise<unknown> | undefined

  /** Waits for the connection. One harmless command in the client's queue waits for all callers. */
  function connect(): Promise<unknown> {
    connected ??= client.ping().finally(() => {
      connected = undefined
    })
    return connected
  }

  return async ([name, ...args], signal, asking) => {
    try {
      if (CONNECTING.has(client.status)) await connect()
      if (client.status !== 'ready' || signal.aborted) throw notConnected()
      // If it fails, the reply to the command says so.
      if (asking) client.call('ASKING', []).catch(() => {})
      return withinSafe(await client.call(String(name), args))
    } catch (error) {
      throw clientError(error)
    }
  }
}
