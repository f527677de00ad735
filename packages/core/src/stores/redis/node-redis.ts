/* Sending of one Redis command through a client of `redis` (node-redis). */
import {
  clientError,
  failureOf,
  notConnected,
  withinSafe,
  type NodeTransport,
  type ReportingClient,
} from './transport.ts'

/** The part of a `redis` (node-redis) client or client pool that the store needs. */
export interface NodeRedisClient extends ReportingClient {
  readonly isOpen: boolean
  /** False while the client connects. A pool does not have it. */
  readonly isReady?: boolean
  sendCommand(
    args: string[],
    options?: { abortSignal?: AbortSignal; typeMapping?: object },
  ): Promise<unknown>
}

export function isNodeRedis(client: unknown): client is NodeRedisClient {
  const { sendCommand, isOpen } = (client ?? {}) as Partial<NodeRedisClient>
  return typeof sendCommand === 'function' && typeof isOpen === 'boolean'
}

/**
 * Creates a transport through a node-redis client. The client itself never sends a command twice, and takes
 * back what it has not sent when the signal aborts.
 */
export function nodeRedisTransport(client: NodeRedisClient): NodeTransport {
  let wasReady = false
  failureOf(client)
  return async (command, abortSignal, asking) => {
    wasReady ||= client.isReady === true
    // Only the first connection is worth the wait: a lost one may take until the deadline of every decision.
    const failure = failureOf(client)
    try {
      if (!client.isOpen || (wasReady && !client.isReady)) throw failure.last ?? notConnected()
      // If it fails, the reply to the command says so.
      if (asking) client.sendCommand(['ASKING'], { abortSignal }).catch(() => {})
      // Replies are read as they come, whatever the client's own types.
      const reply = await client.sendCommand(command.map(String), { abortSignal, typeMapping: {} })
      failure.last = undefined
      return withinSafe(reply)
    } catch (error) {
      throw clientError(error, failure.last)
    }
  }
}
