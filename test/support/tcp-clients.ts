import { createRequire } from 'node:module'
import type { Store } from '@sluice/core'
import { redis, type RedisOptions } from '@sluice/core/redis'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'

type Client = RedisOptions['client']

/** A client on a Redis, and how it ends. */
export interface TcpClient {
  readonly client: Client
  readonly close: () => void
}

// The newest major version is the one that @sluice/local depends on.
const local = createRequire(new URL('../../packages/local/package.json', import.meta.url))
const { Redis: NewestRedis, Cluster: NewestCluster } = local('ioredis') as {
  Redis: typeof Redis
  Cluster: typeof Cluster
}

/** The pause before each attempt to connect again. Not one of Sluice's own pauses, which tests may hold back. */
const RECONNECT_MS = 20

const ioredis =
  (Client: typeof Redis) =>
  (url: string): TcpClient => {
    const client = new Client(url, {
      maxRetriesPerRequest: 0,
      retryStrategy: () => RECONNECT_MS,
    })
    client.on('error', () => {})
    return { client, close: () => client.disconnect() }
  }

/** The clients that `redis` takes, by name, on the way to their first connection. */
export const TCP_CLIENTS = {
  'ioredis 5': ioredis(Redis),
  'ioredis 6': ioredis(NewestRedis),
  'node-redis': (url: string): TcpClient => {
    const client = createClient({ url, socket: { reconnectStrategy: RECONNECT_MS } })
    client.on('error', () => {})
    // A test may end before there is a connection.
    client.connect().catch(() => {})
    return { client, close: () => client.destroy() }
  },
} satisfies Record<string, (url: string) => TcpClient>

export type TcpClientName = keyof typeof TCP_CLIENTS

export const TCP_CLIENT_NAMES = Object.keys(TCP_CLIENTS) as TcpClientName[]

/** Makes stores over one connection. */
export function overTcp(
  name: TcpClientName,
  url: string,
): { make: (prefix: string, timeoutMs?: number) => Store; close: () => void } {
  const { client, close } = TCP_CLIENTS[name](url)
  return { make: (prefix, timeoutMs = 30_000) => redis({ client, prefix, timeoutMs }), close }
}

/** Connects to the cluster that has nodes at these ports of this machine. */
export async function connectCluster(
  name: TcpClientName,
  ports: readonly number[],
): Promise<TcpClient> {
  if (name === 'node-redis') {
    const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
    const socket = { reconnectStrategy: RECONNECT_MS }
    // As soon as a node is lost, instead of 5 s later.
    const topologyRefreshOnReconnectionAttemptStrategy = 100
    const client = createCluster({
      rootNodes,
      defaults: { socket },
      topologyRefreshOnReconnectionAttemptStrategy,
    })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  }
  const Client = name === 'ioredis 5' ? Cluster : NewestCluster
  const client = new Client(ports.map((port) => ({ host: '127.0.0.1', port })))
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}
