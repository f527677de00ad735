/* The nodes of a cluster, as a cluster client of `ioredis` knows them. */
import type { ConfigError } from '../../errors.ts'
import type { ClusterNodes } from './cluster.ts'
import {
  clientError,
  failureOf,
  notConnected,
  type NodeTransport,
  type ReportingClient,
} from './transport.ts'
import { assertSendsOnce, ioredisTransport, type IoredisClient } from './ioredis.ts'

/** The part of a cluster client of `ioredis` that the store needs. */
export interface IoredisCluster extends ReportingClient {
  readonly isCluster: boolean
  readonly status: string
  readonly options: {
    readonly clusterNodeRetryStrategy?: unknown
    readonly redisOptions?: IoredisClient['options'] | undefined
  }
  /** The addresses of the nodes that serve a slot, the master first. */
  readonly slots: readonly (readonly string[])[]
  nodes(): readonly (IoredisClient & {
    readonly options: { readonly host?: string | undefined; readonly port?: number | undefined }
  })[]
  connect(): Promise<void>
  refreshSlotsCache(callback: () => void): void
}

export const isIoredisCluster = (client: unknown): client is IoredisCluster =>
  (client as Partial<IoredisCluster> | null)?.isCluster === true

/** @throws ConfigError When the client's options make it send commands twice, or numbers as text. */
export function ioredisNodes(
  cluster: IoredisCluster,
  invalid: (reason: string) => ConfigError,
): ClusterNodes {
  const { clusterNodeRetryStrategy, redisOptions = {} } = cluster.options
  if (redisOptions.stringNumbers) throw invalid('must be created without stringNumbers')
  // A node whose connection is lost is given up, and what it has not answered with it, unless there is a strategy.
  if (clusterNodeRetryStrategy) {
    assertSendsOnce(redisOptions, () =>
      invalid(
        'sends commands again when a node is lost, and each may be charged; create it with redisOptions: { maxRetriesPerRequest: 0 }, or without clusterNodeRetryStrategy',
      ),
    )
  }
  const transports = new WeakMap<object, NodeTransport>()
  const failure = failureOf(cluster, 'node error')
  const unconnected: NodeTransport = async () => {
    throw clientError(failure.last ?? notConnected())
  }

  function at(address: string | undefined): NodeTransport | undefined {
    const node = cluster
      .nodes()
      .find(({ options: { host, port } }) => `${host}:${port}` === address)
    if (!node) return undefined
    const transport = transports.get(node) ?? ioredisTransport(node)
    transports.set(node, transport)
    return transport
  }

  return {
    isConnecting() {
      // It reports its failure as an event.
      if (cluster.status === 'wait') cluster.connect().catch(() => {})
      return cluster.status === 'connecting' || cluster.status === 'connect'
    },
    ofSlot: (slot) => at(cluster.slots[slot]?.[0]) ?? unconnected,
    at,
    refresh: () =>
      new Promise<void>((resolve) => {
        cluster.refreshSlotsCache(() => resolve())
      }),
  }
}
