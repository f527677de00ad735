import { createLimiter, slidingWindow, type Decision, type Limiter } from '@sluice/core'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import { Redis as UpstashClient } from '@upstash/redis'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connect, keysUnder } from '../support/redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { limiterAt, MODES, SECRET, subject, TRANSPORTS } from './limiter.ts'

// It is stopped, paused and filled with strange data, so each test has its own.
let server: RedisServer
let local: LocalServer
let redis: Redis

beforeEach(async () => {
  server = await startRedisServer()
  local = await startLocal({ redisUrl: server.url, token: SECRET })
  redis = connect(server.url)
  redis.on('error', () => {})
})
afterEach(async () => {
  redis.disconnect()
  await local.close()
  await server.stop()
})

const checks = (limiter: Limiter, times: number): Promise<Decision[]> =>
  Promise.all(Array.from({ length: times }, () => limiter.check(subject)))

const allowedOf = (decisions: readonly Decision[]): number =>
  decisions.filter(({ allowed }) => allowed).length

/** Checks until Redis decides again; the first such decision. */
async function untilSound(limiter: Limiter): Promise<Decision> {
  const deadline = Date.now() + 20_000
  for (;;) {
    const decision = await limiter.peek(subject)
    if (decision.degraded === undefined || Date.now() > deadline) return decision
  }
}

describe.each(TRANSPORTS)('over %s', (transport) => {
  it.each(MODES)('a Redis that is stopped and comes back: %s while it is away', async (mode) => {
    const limiter = limiterAt(local.url, transport, mode)
    expect(allowedOf(await checks(limiter, 5))).toBe(5)
    await server.stop()
    const away = await checks(limiter, 25)
    expect(away.every(({ degraded }) => degraded?.cause === 'store_refused')).toBe(true)
    expect(allowedOf(away)).toBe({ local: 20, allow: 25, deny: 0 }[mode])
    server = await startRedisServer({ port: server.port })
    const back = await untilSound(limiter)
    expect(back.degraded).toBeUndefined()
    // Those counted meanwhile are not: the store came back empty, and all 20 are free.
    expect(allowedOf(await checks(limiter, 25))).toBe(20)
  })

  const HANGS: Record<string, readonly [hang: () => unknown, wake: () => unknown]> = {
    paused: [() => redis.client('PAUSE', 5_000, 'ALL'), () => {}],
    'stopped by a signal': [
      () => process.kill(server.pid, 'SIGSTOP'),
      () => process.kill(server.pid, 'SIGCONT'),
    ],
  }

  it.each(Object.entries(HANGS))(
    'a Redis that hangs, %s, costs the timeout, and its counts remain when it wakes',
    async (_, [hang, wake]) => {
      const prefix = freshPrefix()
      const patient = limiterAt(local.url, transport, 'local', { prefix })
      // Long enough that a busy machine has sent the command before it.
      const limiter = limiterAt(local.url, transport, 'local', { prefix, timeoutMs: 2_000 })
      expect(allowedOf(await checks(patient, 5))).toBe(5)
      await hang()
      const hung = await limiter.check(subject)
      expect(hung).toMatchObject({ allowed: true, degraded: { cause: 'store_timeout' } })
      wake()
      const { degraded, policies } = await patient.peek(subject)
      expect(degraded).toBeUndefined()
      // The answer was given up, the command was not: it is counted when Redis gets to it.
      expect(policies[1]?.remaining).toBe(14)
      expect(allowedOf(await checks(patient, 25))).toBe(14)
    },
  )

  it('foreign data under our keys degrades decisions and stays unchanged', async () => {
    const limiter = limiterAt(local.url, transport, 'deny')
    await limiter.check(subject)
    const keys = await keysUnder(redis, '*')
    expect(keys).toHaveLength(2)
    const strange: ((key: string) => Promise<unknown>)[] = [
      (key) => redis.set(key, 'not ours'),
      (key) => redis.set(key, '7'),
      (key) => redis.hset(key, 'field', 'value'),
      (key) => redis.lpush(key, 'item'),
      (key) => redis.zadd(key, 1, 'member', 2, 'other'),
      (key) => redis.sadd(key, 'member'),
    ]
    for (const key of keys) {
      for (const write of strange) {
        await redis.flushall()
        await write(key)
        const before = await redis.dumpBuffer(key)
        const decision = await limiter.check(subject)
        expect(decision.degraded).toEqual({ cause: 'store_refused', mode: 'deny' })
        expect(await redis.dumpBuffer(key)).toEqual(before)
        expect(await redis.dbsize()).toBe(1)
      }
    }
  })
})

it('a Redis that is stopped makes reset throw; counts made instead of it are dropped', async () => {
  const limiter = limiterAt(local.url, 'the built-in transport', 'local')
  await server.stop()
  expect(allowedOf(await checks(limiter, 25))).toBe(20)
  await expect(limiter.reset(subject)).rejects.toMatchObject({ code: 'store_refused' })
  expect(allowedOf(await checks(limiter, 25))).toBe(20)
})

it("a user's client keeps its own settings and goes on working", async () => {
  const client = new UpstashClient({ url: local.url, token: SECRET, retry: { retries: 2 } })
  const { client: http } = client as unknown as { client: { retry: object; options: object } }
  const before = { ...http, retry: { ...http.retry }, options: { ...http.options } }
  const limiter = createLimiter({
    store: upstashRedis(client),
    policies: [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })],
  })
  expect(await limiter.check(subject)).toMatchObject({ allowed: true, degraded: undefined })
  expect({ ...http, retry: { ...http.retry }, options: { ...http.options } }).toEqual(before)
  expect(await client.set('own', { json: true })).toBe('OK')
  expect(await client.get('own')).toEqual({ json: true })
})
