import { createLimiter, dailyCap, slidingWindow, type Limiter } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll } from 'vitest'
import { connect } from '../../support/redis.ts'
import { freshPrefix } from '../../support/stores.ts'

const per = ['tenant']
const policies = [
  dailyCap({ name: 'daily', limit: 4, per }),
  slidingWindow({ name: 'rpm', limit: 4, window: '1m', per }),
]

/** A Redis whose users are restricted, so it is shared with no other file. */
export function redisWithUsers() {
  let server: RedisServer
  let redis: Redis
  beforeAll(async () => {
    server = await startRedisServer()
    redis = connect(server.url)
  })
  afterAll(async () => {
    redis.disconnect()
    await server.stop()
  })
  return {
    get redis() {
      return redis
    },
    get url() {
      return server.url
    },
    /** A server in front of Redis that acts as a user with only these rights. */
    async restricted(name: string, ...rules: string[]): Promise<LocalServer> {
      await redis.acl('SETUSER', name, 'reset', 'on', '>secret', ...rules)
      return startLocal({ redisUrl: `redis://${name}:secret@127.0.0.1:${server.port}` })
    },
  }
}

export function limiterOf({ url, token }: LocalServer, prefix = freshPrefix()): Limiter {
  const store = upstash({ url, token, prefix, timeoutMs: 30_000 })
  return createLimiter({ store, policies, onStoreError: 'deny' })
}
