import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { describe, expect } from 'vitest'
import { loosely, mistakesAreNamed, show, type Mistake } from '../../support/mistakes.ts'

const store = loosely(upstash)
const remote = { url: 'https://redis.example', token: 'auth-1' }

const client = { client: { request: () => expect.unreachable(), retry: {} } }

const STORES: Mistake[] = [
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
  ...[null, {}, { client: null }, { client: {} }, 7, 'redis'].map((redis): Mistake => [
    `redis ${show(redis)}`,
    () => loosely(upstashRedis)(redis),
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
