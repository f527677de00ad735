/* The factory `redis`: a store in Redis over TCP, through your own client. */
import type { Store } from '../store.ts'
import type { Transport } from './transport.ts'
import type { ConfigError } from '../../errors.ts'
import { assertKnownOptions, invalidOption } from '../../internal/validation.ts'
import { placedStore, type PlacedStore, type PlaceLeases } from '../placed/placed-store.ts'
import { placesBy } from '../placed/places-by.ts'
import { clusterTransport } from './cluster.ts'
import { ioredisNodes, isIoredisCluster, type IoredisCluster } from './ioredis-cluster.ts'
import { assertSendsOnce, ioredisTransport, isIoredis, type IoredisClient } from './ioredis.ts'
import { isNodeRedisCluster, nodeRedisNodes, type NodeRedisCluster } from './node-redis-cluster.ts'
import { isNodeRedis, nodeRedisTransport, type NodeRedisClient } from './node-redis.ts'
import { redisStore, resolveRedisOptions, type RedisStoreOptions } from './redis-store.ts'

export type { IoredisCluster } from './ioredis-cluster.ts'
export type { IoredisClient } from './ioredis.ts'
export type { NodeRedisCluster } from './node-redis-cluster.ts'
export type { NodeRedisClient } from './node-redis.ts'
export type { PlacedStore, PlaceLeases } from '../placed/placed-store.ts'
export type { RedisStoreOptions } from './redis-store.ts'

/** Options of `redis`. */
export interface RedisOptions extends RedisStoreOptions {
  /**
   * Your client: `new Redis(url, { maxRetriesPerRequest: 0 })` of `ioredis`, or the connected client or
   * client pool of `redis` (node-redis), or the client of a cluster of either. You connect it, listen to its errors and
   * close it.
   */
  readonly client: IoredisClient | NodeRedisClient | IoredisCluster | NodeRedisCluster
  /**
   * The dimension that picks the slot of a cluster: all keys of one of its values are in one slot. Every policy must count
   * by it. `'global'` is one slot for everything. Only with the client of a cluster. @default 'tenant'
   */
  readonly shardBy?: string
  /**
   * `placeLeases` of `@sluice/core/place-leases`, for policies that are leased. Only with the client of a cluster.
   *
   * @default they are refused
   */
  readonly leases?: PlaceLeases
}

/**
 * Creates a store in Redis over TCP: one script call per decision, whatever the number of policies. It
 * sends nothing twice, and nothing after its deadline.
 *
 * @throws ConfigError When `client` is neither of the two clients, would send commands twice, or belongs to
 * sentinels; or when an option is unknown or malformed.
 * @example
 * import { Redis } from 'ioredis'
 * const store = redis({ client: new Redis(url, { maxRetriesPerRequest: 0 }) })
 * @example
 * import { createClient } from 'redis'
 * const client = await createClient({ url }).on('error', console.error).connect()
 * const store = redis({ client, timeoutMs: 500 })
 */
export function redis(
  options: RedisOptions & { readonly client: IoredisCluster | NodeRedisCluster },
): PlacedStore
export function redis(options: RedisOptions): Store
export function redis(options: RedisOptions): Store {
  assertKnownOptions('redis', options, ['client', 'timeoutMs', 'prefix', 'shardBy', 'leases'])
  const { client } = options
  const [timeoutMs, prefix] = resolveRedisOptions('redis', options)
  const transport = transportOf(client)
  if (!isIoredisCluster(client) && !isNodeRedisCluster(client)) {
    for (const name of ['shardBy', 'leases'] as const) {
      if (options[name] === undefined) continue
      const rule = 'must be left out: only a cluster has slots'
      throw invalidOption(`redis.${name}`, rule, options[name])
    }
    return redisStore(transport, timeoutMs, prefix)
  }
  // Redis Cluster refuses the flag.
  return placedStore(
    placesBy('redis', options.shardBy ?? 'tenant', 'leases: placeLeases in redis'),
    (place) => redisStore(transport, timeoutMs, `${prefix}:{${place}}`, false),
    options.leases,
  )
}

function transportOf(client: unknown): Transport {
  if (isSentinel(client)) {
    const rule =
      'is the client of sentinels of redis (node-redis), which repeats commands by itself; use the one of ioredis'
    throw invalidClient(rule)
  }
  if (isIoredisCluster(client)) return clusterTransport(ioredisNodes(client, invalidClient))
  if (isNodeRedisCluster(client)) return clusterTransport(nodeRedisNodes(client))
  if (isIoredis(client)) {
    assertSendsOnce(client.options, invalidClient)
    return ioredisTransport(client)
  }
  if (isNodeRedis(client)) return nodeRedisTransport(client)
  throw invalidClient(
    'must be a client of ioredis or of redis (node-redis); for @upstash/redis, use upstashRedis of ' +
      '@sluice/core/upstash-redis',
  )
}

const isSentinel = (client: unknown): boolean =>
  (client as { readonly getSentinelNode?: unknown } | null | undefined)?.getSentinelNode !==
  undefined

const invalidClient = (reason: string): ConfigError => invalidOption('redis.client', reason)
