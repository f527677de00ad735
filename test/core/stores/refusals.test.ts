import type { LuaOperation, Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { regional } from '@sluice/core/regional'
import { sharded } from '@sluice/core/sharded'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { Redis as UpstashClient } from '@upstash/redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { overTcp, TCP_CLIENT_NAMES } from '../../support/tcp-clients.ts'

const server = ownRedisOverHttp()

const write: LuaOperation<number> = {
  kind: {
    name: 'test.refused',
    run: () => 1,
    lua: {
      script: () => `return redis.call('HSET', KEYS[1], 'at', '1')`,
      args: () => [],
      parse: (reply) => (typeof reply === 'number' ? { result: reply } : undefined),
    },
  },
  keys: ['own:tenant=acme'],
  data: undefined,
  startedAt: 0,
}

const overRest = (options: object = {}): Store => {
  const { url, token } = server.local
  return upstash({ url, token, timeoutMs: 30_000, ...options })
}

const STORES: Record<string, () => Store> = {
  upstash: () => overRest(),
  'upstash with pipeline': () => overRest({ pipeline: true }),
  upstashRedis: () => {
    const { url, token } = server.local
    return upstashRedis(new UpstashClient({ url, token }), { timeoutMs: 30_000 })
  },
  batched: () => batched(overRest()),
  breaker: () => breaker(overRest()),
  sharded: () => sharded({ a: overRest() }),
  regional: () => regional({ home: overRest(), here: overRest() }),
}

/** The ways in which Redis refuses a write: how it comes to that, and how it ends. */
const REFUSALS: Record<string, readonly [begin: string[], end: string[]]> = {
  OOM: [
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
  ],
  READONLY: [
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
  ],
  NOPERM: [
    ['ACL', 'SETUSER', 'default', '-eval', '-evalsha'],
    ['ACL', 'SETUSER', 'default', '+@all'],
  ],
}

const tcp = new Map<string, ReturnType<typeof overTcp>>()

beforeAll(() => {
  const { host, port } = server.redis.options
  for (const name of TCP_CLIENT_NAMES) tcp.set(name, overTcp(name, `redis://${host}:${port}`))
})
afterAll(() => tcp.forEach(({ close }) => close()))

const send = ([command = '', ...args]: readonly string[]) => server.redis.call(command, ...args)

describe.each(Object.entries(REFUSALS))('a Redis that refuses with %s', (word, [begin, end]) => {
  afterEach(() => send(end))

  it.each([...Object.keys(STORES), ...TCP_CLIENT_NAMES])(
    'is told by its word: %s',
    async (name) => {
      const store = STORES[name]?.() ?? tcp.get(name)?.make('sluice')
      await send(begin)
      const error = await store?.run({ ...write, startedAt: Date.now() }).catch((thrown) => thrown)
      expect(error).toMatchObject({ name: 'StoreError', code: 'store_refused', word })
      expect(error.message).toContain(error.reason)
      // The reply's text may quote keys.
      expect(JSON.stringify([error.message, error])).not.toContain('tenant')
    },
  )
})
