/* Sending of one Redis command through a client of `redis` (node-redis). */
import { clientError, notConnected, type Transport } from './transport.ts'

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
export function nodeRedisTransport(client: NodeRedisClient): Transport {
  let wasReady = false
  return async (command, abortSignal) => {
    wasReady ||= client.isReady === true
    // Only the first connection is worth the wait: a lost one may take until the deadline of every decision.
    if (!client.isOpen || (wasReady && !client.isReady)) throw notConnected()
    try {
      // Replies are read as they come, whatever the client's own types.
      const reply = await client.sendCommand(command.map(String), { abortSignal, typeMapping: {} })
      return Array.isArray(reply) ? reply.map(withinSafe) : withinSafe(reply)
    } catch (error) {
      throw clientError(error)
    }
  }
}

/** Returns a number within the safe integers: node-redis reads the largest one, 2^53 - 1, as 2^53. */
function withinSafe(value: unknown): unknown {
  const max = Number.MAX_SAFE_INTEGER
  return typeof value === 'number' ? Math.max(-max, Math.min(max, value)) : value
}
