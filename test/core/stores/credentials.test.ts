import { once } from 'node:events'
import { createLimiter, listen, slidingWindow } from '@sluice/core'
import { redis, type RedisOptions } from '@sluice/core/redis'
import { startRedisServer, type RedisServer } from '@sluice/local'
import { Cluster, Redis } from 'ioredis'
import { createClientPool } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TCP_CLIENTS } from '../../support/tcp-clients.ts'

type Client = RedisOptions['client']

let server: RedisServer
const closing: (() => unknown)[] = []

beforeAll(async () => {
  server = await startRedisServer()
  const owner = new Redis(server.url)
  closing.push(() => owner.disconnect())
  await owner.acl(
    'SETUSER',
    'reader',
    'on',
    '>secret',
    '~*',
    '+@all',
    '-eval',
    '-evalsha',
    '-cluster',
  )
  await owner.config('SET', 'requirepass', 'secret')
})
afterAll(async () => {
  for (const close of closing) close()
  await server.stop()
})

/** The causes of decisions by a client that Redis refuses by each word. */
const WORDS = {
  NOAUTH: { user: '', cause: 'store_unauthorized' },
  WRONGPASS: { user: 'reader:wrong@', cause: 'store_unauthorized' },
  NOPERM: { user: 'reader:secret@', cause: 'store_refused' },
}

/** Clients, and a promise of their first connection or failure if decisions do not wait for it. */
const CLIENTS: Record<string, (url: string) => { client: Client; end?: Promise<unknown> }> = {
  ...Object.fromEntries(
    Object.entries(TCP_CLIENTS).map(([name, connect]) => [
      name,
      (url: string) => {
        const { client, close } = connect(url)
        closing.push(close)
        return { client }
      },
    ]),
  ),
  'a pool of node-redis': (url) => {
    const pool = createClientPool({ url }, { acquireTimeout: 10 })
    pool.on('error', () => {})
    closing.push(() => pool.destroy())
    return { client: pool, end: Promise.race([pool.connect(), once(pool, 'error')]) }
  },
  'a cluster of ioredis': (url) => {
    const { username, password, port } = new URL(url)
    const cluster = new Cluster([{ host: '127.0.0.1', port: Number(port) }], {
      redisOptions: { username, password },
    })
    cluster.on('error', () => {})
    closing.push(() => cluster.disconnect())
    return { client: cluster }
  },
}

describe.each(Object.entries(CLIENTS))('%s', (_, connect) => {
  it.each(Object.entries(WORDS))('names the cause when Redis says %s', async (__, expected) => {
    const { client, end } = connect(server.url.replace('//', `//${expected.user}`))
    const policies = [slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })]
    const limiter = createLimiter({
      store: redis({ client, timeoutMs: 30_000 }),
      policies,
      extensions: [listen({ problem: () => {} })],
    })
    await end
    // The first waits for the connection; the others are made after it has failed.
    for (let call = 0; call < 3; call += 1) {
      expect((await limiter.check({ tenant: 'acme' })).degraded?.cause).toBe(expected.cause)
    }
  })
})
