/* The nodes of a cluster, as a cluster client of `redis` (node-redis) knows them. */
import type { ClusterNodes } from './cluster.ts'
import { notConnected, type NodeTransport } from './transport.ts'
import { nodeRedisTransport, type NodeRedisClient } from './node-redis.ts'

interface ClusterNode {
  readonly client?: NodeRedisClient | undefined
}

/** The part of a cluster client of `redis` (node-redis) that the store needs. */
export interface NodeRedisCluster {
  readonly isOpen: boolean
  readonly slots: readonly { readonly master: ClusterNode }[]
  readonly masters: readonly ClusterNode[]
  readonly nodeByAddress: ReadonlyMap<string, ClusterNode>
  /** Connects to a node, if it has no client yet. */
  nodeClient(node: never): Promise<unknown>
  sendCommand(firstKey: string, isReadonly: boolean, args: string[]): Promise<unknown>
}

export function isNodeRedisCluster(client: unknown): client is NodeRedisCluster {
  const { masters, slots, nodeByAddress } = (client ?? {}) as Partial<NodeRedisCluster>
  return Array.isArray(masters) && Array.isArray(slots) && nodeByAddress instanceof Map
}

export function nodeRedisNodes(cluster: NodeRedisCluster): ClusterNodes {
  const transports = new WeakMap<object, NodeTransport>()

  function transportOf(node: ClusterNode | undefined): NodeTransport | undefined {
    if (!node) return undefined
    const { client } = node
    if (!client) {
      return async (...call) => {
        const connected = await cluster.nodeClient(node as never).catch(() => undefined)
        if (!connected) throw notConnected()
        return nodeRedisTransport(connected as NodeRedisClient)(...call)
      }
    }
    const transport = transports.get(client) ?? nodeRedisTransport(client)
    transports.set(client, transport)
    return transport
  }

  return {
    isConnecting: () => cluster.isOpen && cluster.masters.length === 0,
    ofSlot: (slot) => transportOf(cluster.slots[slot]?.master),
    at: (address) => transportOf(cluster.nodeByAddress.get(address)),
    // It looks for a slot anew when a command meets its move, and for a lost node by itself.
    refresh: async (key) => {
      if (key !== undefined) await cluster.sendCommand(key, false, ['EXISTS', key]).catch(() => {})
    },
  }
}
