import { memory } from '@sluice/core/memory'
import { redis } from '@sluice/core/redis'
import { placeLeases } from '@sluice/core/place-leases'
import { sharded } from '@sluice/core/sharded'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster, createSentinel } from 'redis'
import { describe, expect } from 'vitest'
import { loosely, mistakesAreNamed, show, type Mistake } from '../../support/mistakes.ts'

const store = loosely(upstash)
const remote = { url: 'https://redis.example', token: 'auth-1' }

const client = { client: { request: () => expect.unreachable(), retry: {} } }

const ioredis = (options: object) => new Redis({ lazyConnect: true, ...options })
const ioredisCluster = (options: object) =>
  new Cluster(['redis://localhost'], { lazyConnect: true, ...options })
const nodeRedis = createClient()
const cluster = createCluster({ rootNodes: [{}] })

const REDIS_CLIENTS: Record<string, unknown> = {
  nothing: undefined,
  'a URL': 'redis://localhost',
  'an object': {},
  'a REST client': client,
  'an ioredis client that sends commands again': ioredis({}),
  'an ioredis client that sends commands again once': ioredis({ maxRetriesPerRequest: 1 }),
  'an ioredis client that sends commands again for ever': ioredis({ maxRetriesPerRequest: null }),
  'an ioredis client that reads numbers as text': ioredis({
    maxRetriesPerRequest: 0,
    stringNumbers: true,
  }),
  'an ioredis cluster that sends commands again': ioredisCluster({
    clusterNodeRetryStrategy: () => 100,
  }),
  'an ioredis cluster that reads numbers as text': ioredisCluster({
    redisOptions: { stringNumbers: true },
  }),
  'a node-redis client of sentinels': createSentinel({ name: 'main', sentinelRootNodes: [] }),
}

const STORES: Mistake[] = [
  ...Object.entries(REDIS_CLIENTS).map(([name, wrong]): Mistake => [
    name,
    () => loosely(redis)({ client: wrong }),
    'redis.client',
  ]),
  [
    'a URL of redis',
    () => loosely(redis)({ url: 'redis://localhost' }),
    'redis.url',
    'unknown_option',
  ],
  ['a timeoutMs of 0', () => redis({ client: nodeRedis, timeoutMs: 0 }), 'redis.timeoutMs'],
  ['a prefix with a colon', () => redis({ client: nodeRedis, prefix: 'a:b' }), 'redis.prefix'],
  ['a dimension with a colon', () => redis({ client: cluster, shardBy: 'a:b' }), 'redis.shardBy'],
  ['leases that are none', () => redis({ client: cluster, leases: {} as never }), 'redis.leases'],
  ['shardBy of one server', () => redis({ client: nodeRedis, shardBy: 'tenant' }), 'redis.shardBy'],
  ['leases of one server', () => redis({ client: nodeRedis, leases: placeLeases }), 'redis.leases'],
  ...[null, {}, { 'a:b': memory() }].map((stores): Mistake => [
    `stores ${show(stores)}`,
    () => loosely(sharded)(stores),
    'sharded.stores',
  ]),
  ...[true, {}, { create: () => {} }].map((leases): Mistake => [
    `leases ${show(leases)}`,
    () => sharded({ a: memory() }, { leases: leases as never }),
    'sharded.leases',
  ]),
  ['an unknown home', () => sharded({ a: memory() }, { home: 'b' as never }), 'sharded.home'],
  ['a store that is none', () => loosely(sharded)({ a: null }), 'sharded.stores.a'],
  ...[-1, Number.NaN, 1_001, '1'].map((weight): Mistake => [
    `a weight of ${show(weight)}`,
    () => sharded({ a: memory() }, { weights: { a: weight as number } }),
    'sharded.weights.a',
  ]),
  ['no weight at all', () => sharded({ a: memory() }, { weights: { a: 0 } }), 'sharded.stores'],
  [
    'the weight of no store',
    () => sharded({ a: memory() }, { weights: { b: 1 } as never }),
    'sharded.weights.b',
    'unknown_option',
  ],
  ...['redis.example', 'redis://x', 'ftp://x', 'https://', 'https://u:p@x', 'https://u@x', 7].map(
    (url): Mistake => [`address ${show(url)}`, () => store({ ...remote, url }), 'upstash.url'],
  ),
  ...['a b', 'a\n', 'é', 'a\u0000', 7].map((token): Mistake => [
    `auth token ${show(token)}`,
    () => store({ ...remote, token }),
    'upstash.token',
  ]),
  ...[0, -1, 1.5, Number.NaN, Infinity, '500', 60_001].map((timeoutMs): Mistake => [
    `timeoutMs ${show(timeoutMs)}`,
    () => store({ ...remote, timeoutMs }),
    'upstash.timeoutMs',
  ]),
  ...['', 'a:b', '{a}', 'a b', 7].map((prefix): Mistake => [
    `prefix ${show(prefix)}`,
    () => store({ ...remote, prefix }),
    'upstash.prefix',
  ]),
  [
    'an unknown option',
    () => store({ ...remote, timeout: 5 }),
    'upstash.timeout',
    'unknown_option',
  ],
  ['a fetch that is none', () => store({ ...remote, fetch: {} }), 'upstash.fetch'],
  ...[null, {}, { client: null }, { client: {} }, 7, 'redis'].map((wrong): Mistake => [
    `redis ${show(wrong)}`,
    () => loosely(upstashRedis)(wrong),
    'upstashRedis.redis',
  ]),
  ['a client among the options', () => store({ redis: {} }), 'upstash.redis', 'unknown_option'],
  [
    'an address beside a client',
    () => upstashRedis(client, remote as never),
    'upstashRedis.url',
    'unknown_option',
  ],
  ...['', 'a:b'].map((prefix): Mistake => [
    `prefix ${show(prefix)} beside a client`,
    () => upstashRedis(client, { prefix }),
    'upstashRedis.prefix',
  ]),
  [
    'a timeoutMs of 0 beside a client',
    () => upstashRedis(client, { timeoutMs: 0 }),
    'upstashRedis.timeoutMs',
  ],
  ...[0, -1, 1.5, Number.NaN, '5'].map((maxKeys): Mistake => [
    `maxKeys ${show(maxKeys)}`,
    () => loosely(memory)({ maxKeys }),
    'memory.maxKeys',
  ]),
  ['an unknown option', () => loosely(memory)({ max: 1 }), 'memory.max', 'unknown_option'],
]

describe('a mistake in the options of a store is an error that names the option', () => {
  mistakesAreNamed(STORES)
})
