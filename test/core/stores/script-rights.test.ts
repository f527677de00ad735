import { createLimiter, dailyCap, slidingWindow, type Limiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { connect, keysUnder } from '../../support/redis.ts'
import { freshPrefix } from '../../support/stores.ts'

const per = ['tenant']
const policies = [
  dailyCap({ name: 'daily', limit: 4, per }),
  slidingWindow({ name: 'rpm', limit: 4, window: '1m', per }),
]

// Its users are restricted here, so it is shared with nobody.
let server: RedisServer
let redis: Redis

beforeAll(async () => {
  server = await startRedisServer()
  redis = connect(server.url)
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

/** A server in front of Redis that acts as a user with only these rights. */
async function restricted(name: string, ...rules: string[]): Promise<LocalServer> {
  await redis.acl('SETUSER', name, 'reset', 'on', '>secret', ...rules)
  return startLocal({ redisUrl: `redis://${name}:secret@127.0.0.1:${server.port}` })
}

function limiterOf({ url, token }: LocalServer, prefix = freshPrefix()): Limiter {
  const store = upstash({ url, token, prefix, timeoutMs: 30_000 })
  return createLimiter({ store, policies, onStoreError: 'deny' })
}

describe('a script', () => {
  it('touches only the keys that it declares, so a user with rights to no other keys gets decisions', async () => {
    const open = await startLocal({ redisUrl: server.url })
    const prefix = freshPrefix()
    await limiterOf(open, prefix).check(ACME)
    const keys = await keysUnder(redis, prefix)
    expect(keys).toHaveLength(2)
    const local = await restricted('narrow', ...keys.map((key) => `~${key}`), '+@all')
    const limiter = limiterOf(local, prefix)
    for (const remaining of [2, 1, 0, 0]) {
      const decision = await limiter.check(ACME)
      expect(decision.degraded).toBeUndefined()
      expect(decision.policies.map((policy) => policy.remaining)).toEqual([remaining, remaining])
    }
    await limiter.reset(ACME)
    expect((await limiter.peek(ACME)).policies[0]?.remaining).toBe(4)
    // The user is restricted indeed.
    expect((await limiter.check({ tenant: 'other' })).degraded?.cause).toBe('store_refused')
    await local.close()
    await open.close()
  })

  it('runs only the commands that the page of performance lists', async () => {
    const commands = 'evalsha eval time get set zrange zadd zremrangebyscore pexpire del'
    const local = await restricted(
      'frugal',
      '~*',
      '-@all',
      '+ping',
      '+info',
      '+hello',
      '+select',
      ...commands.split(' ').map((name) => `+${name}`),
    )
    const limiter = limiterOf(local)
    for (let time = 0; time < 6; time += 1) {
      expect((await limiter.check(ACME)).degraded).toBeUndefined()
    }
    await limiter.reset(ACME)
    await local.close()
  })
})
