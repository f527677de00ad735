/* Sending of one Redis command through a client of `redis` (node-redis). */
import { clientError, notConnected, withinSafe, type NodeTransport } from './transport.ts'

/** The part of a `redis` (node-redis) client or client pool that the store needs. */
export interface NodeRedisClient {
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
  return async (command, abortSignal, asking) => {
    wasReady ||= client.isReady === true
    // Only the first connection is worth the wait: a lost one may take until the deadline of every decision.
    if (!client.isOpen || (wasReady && !client.isReady)) throw notConnected()
    try {
      // If it fails, the reply to the command says so.
      if (asking) client.sendCommand(['ASKING'], { abortSignal }).catch(() => {})
      // Replies are read as they come, whatever the client's own types.
      const reply = await client.sendCommand(command.map(String), { abortSignal, typeMapping: {} })
      return withinSafe(reply)
    } catch (error) {
      throw clientError(error)
    }
  }
}
