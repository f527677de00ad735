import { createServer, type AddressInfo, type Socket } from 'node:net'
import { createLimiter, slidingWindow } from '@sluice/core'
import { redis, type RedisOptions } from '@sluice/core/redis'
import { Redis } from 'ioredis'
import { createClient, createClientPool } from 'redis'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { freshPrefix } from '../../support/stores.ts'
import { decidesThroughClient } from './decides-through-client.ts'

type Client = RedisOptions['client']

const closing: (() => void)[] = []
afterAll(() => {
  for (const close of closing) close()
})

function ioredis(options: object): Client {
  const client = new Redis(inject('redisUrl'), { maxRetriesPerRequest: 0, ...options })
  closing.push(() => client.disconnect())
  return client
}

async function nodeRedis(options: object): Promise<Client> {
  const client = createClient({ url: inject('redisUrl'), ...options })
  closing.push(() => client.destroy())
  await client.connect()
  return client
}

/** Clients set up in ways that change what they send or how they read answers. */
const CLIENTS: Record<string, () => Client | Promise<Client>> = {
  'ioredis as it should be': () => ioredis({}),
  'ioredis that connects late': () => ioredis({ lazyConnect: true }),
  'ioredis with automatic pipelines': () => ioredis({ enableAutoPipelining: true }),
  'ioredis with a key prefix': () => ioredis({ keyPrefix: 'app:' }),
  'ioredis without an offline queue, connected': async () => {
    const client = ioredis({ enableOfflineQueue: false, lazyConnect: true })
    await (client as Redis).connect()
    return client
  },
  'ioredis without the ready check': () => ioredis({ enableReadyCheck: false }),
  'ioredis with another database': () => ioredis({ db: 3 }),
  'node-redis as it comes': () => nodeRedis({}),
  'node-redis with RESP2': () => nodeRedis({ RESP: 2 }),
  'node-redis with RESP3': () => nodeRedis({ RESP: 3 }),
  'node-redis with types of its own': () =>
    nodeRedis({ commandOptions: { typeMapping: { 36: Buffer, 58: String } } }),
  'node-redis without an offline queue': () => nodeRedis({ disableOfflineQueue: true }),
  'node-redis on the way to its connection': () => {
    const client = createClient({ url: inject('redisUrl') })
    closing.push(() => client.destroy())
    void client.connect()
    return client
  },
  'a pool of node-redis': async () => {
    const pool = createClientPool({ url: inject('redisUrl') })
    closing.push(() => pool.destroy())
    await pool.connect()
    return pool
  },
}

describe('a client of Redis over TCP', () => {
  it.each(Object.entries(CLIENTS))('decides, resets and counts: %s', async (_, make) => {
    expect.hasAssertions()
    await decidesThroughClient(
      redis({ client: await make(), prefix: freshPrefix(), timeoutMs: 30_000 }),
    )
  })
})

it.each(['NOAUTH Authentication required.', 'WRONGPASS invalid username-password pair.'])(
  'a client whose credentials Redis refuses is told so: %s',
  async (answer) => {
    const client = {
      status: 'ready',
      options: { maxRetriesPerRequest: 0 },
      call: () => Promise.reject(new Error(answer)),
      connect: () => Promise.resolve(),
      on: () => undefined,
      off: () => undefined,
      listenerCount: () => 1,
    }
    await expect(redis({ client }).reset(['key'])).rejects.toMatchObject({
      code: 'store_unauthorized',
      message: expect.stringContaining('check the username and password of your client') as string,
    })
  },
)

const listeners = (client: Redis): number =>
  client.listenerCount('ready') + client.listenerCount('close')

/** Creates a client on its way to a server that never answers. */
async function connecting(): Promise<[Redis, sockets: Socket[]]> {
  const sockets: Socket[] = []
  const silent = createServer((socket) => sockets.push(socket))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const client = new Redis({ port, maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => {})
  closing.push(
    () => silent.close(),
    () => client.disconnect(),
  )
  // The client has its own listeners by now.
  await expect.poll(() => client.status).toBe('connect')
  return [client, sockets]
}

describe('a client of ioredis that connects to a Redis that does not answer', () => {
  const policies = [slidingWindow({ name: 'rpm', limit: 500, window: '1h', per: ['tenant'] })]
  it('is waited for by one listener, however many decisions wait, and until the connection closes', async () => {
    const [client, sockets] = await connecting()
    const limiter = createLimiter({ store: redis({ client, timeoutMs: 60_000 }), policies })
    const before = listeners(client)
    const waiting = Array.from({ length: 200 }, () => limiter.check({ tenant: 'acme' }))
    await expect.poll(() => listeners(client)).toBe(before + 2)
    await expect.poll(() => sockets.length).toBe(1)
    for (const socket of sockets) socket.destroy()
    const causes = (await Promise.all(waiting)).map(({ degraded }) => degraded?.cause)
    expect(new Set(causes)).toEqual(new Set(['store_unreachable']))
    expect(listeners(client)).toBeLessThanOrEqual(before)
  })

  it('is not waited for beyond the deadline', async () => {
    const [client] = await connecting()
    const limiter = createLimiter({ store: redis({ client, timeoutMs: 20 }), policies })
    const before = listeners(client)
    const waiting = Array.from({ length: 3 }, () => limiter.check({ tenant: 'acme' }))
    const causes = (await Promise.all(waiting)).map(({ degraded }) => degraded?.cause)
    expect(causes).toEqual(causes.map(() => 'store_timeout'))
    expect(listeners(client)).toBe(before)
  })
})
