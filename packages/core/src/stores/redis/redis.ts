/* The factory `redis`: a store in Redis over TCP, through your own client. */
import type { Store } from '../store.ts'
import type { RedisStoreOptions } from './redis-store.ts'
import type { Transport } from './transport.ts'
import { ConfigError } from '../../errors.ts'
import { assertKnownOptions } from '../../internal/validation.ts'
import { ioredisTransport, isIoredis, type IoredisClient } from './ioredis.ts'
import { isNodeRedis, nodeRedisTransport, type NodeRedisClient } from './node-redis.ts'
import { redisStore, resolveRedisOptions } from './redis-store.ts'

export type { IoredisClient } from './ioredis.ts'
export type { NodeRedisClient } from './node-redis.ts'
export type { RedisStoreOptions } from './redis-store.ts'

/** Options of `redis`. */
export interface RedisOptions extends RedisStoreOptions {
  /**
   * Your client: `new Redis(url, { maxRetriesPerRequest: 0 })` of `ioredis`, or the connected client or
   * client pool of `redis` (node-redis). You connect it, listen to its errors and close it.
   */
  readonly client: IoredisClient | NodeRedisClient
}

/**
 * Creates a store in Redis over TCP: one script call per decision, whatever the number of policies. It
 * sends nothing twice, and nothing after its deadline.
 *
 * @throws ConfigError When `client` is neither of the two clients, would send commands twice, or belongs to
 * a cluster; or when an option is unknown or malformed.
 * @example
 * import { Redis } from 'ioredis'
 * const store = redis({ client: new Redis(url, { maxRetriesPerRequest: 0 }) })
 * @example
 * import { createClient } from 'redis'
 * const client = await createClient({ url }).on('error', console.error).connect()
 * const store = redis({ client, timeoutMs: 500 })
 */
export function redis(options: RedisOptions): Store {
  assertKnownOptions('redis', options, ['client', 'timeoutMs', 'prefix'])
  return redisStore(transportOf(options.client), ...resolveRedisOptions('redis', options))
}

function transportOf(client: unknown): Transport {
  if (isCluster(client)) {
    throw invalidClient(
      'is a client of a cluster or of sentinels, which repeats commands by itself; pass a client of one ' +
        'server, or the client of ioredis for sentinels',
    )
  }
  if (isIoredis(client)) return ioredisTransport(client, invalidClient)
  if (isNodeRedis(client)) return nodeRedisTransport(client)
  throw invalidClient(
    'must be a client of ioredis or of redis (node-redis); for @upstash/redis, use upstashRedis of ' +
      '@sluice/core/upstash-redis',
  )
}

/** Returns true for clusters of both libraries, and for the sentinel client of node-redis. */
function isCluster(client: unknown): boolean {
  const { isCluster: flag, masters, getSentinelNode } = (client ?? {}) as Record<string, unknown>
  return flag === true || masters !== undefined || getSentinelNode !== undefined
}

const invalidClient = (reason: string): ConfigError =>
  new ConfigError('invalid_option', 'redis.client', reason)
