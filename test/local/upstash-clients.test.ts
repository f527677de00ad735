import { startLocal } from '@sluice/local'
import type { LocalServer } from '@sluice/local'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

describe.each(['redis-server', 'embedded'] as const)("Upstash's own clients on %s", (engine) => {
  let server: LocalServer
  let redis: Redis

  beforeAll(async () => {
    server = await startLocal({ engine })
    redis = new Redis({ url: server.url, token: server.token })
  })
  afterAll(async () => {
    await server.close()
  })
  beforeEach(async () => {
    await redis.flushall()
  })

  it('@upstash/redis reads and writes strings and JSON', async () => {
    expect(await redis.set('a', { text: 'é', list: [1, null] }, { px: 100_000 })).toBe('OK')
    expect(await redis.get('a')).toEqual({ text: 'é', list: [1, null] })
    expect(await redis.ttl('a')).toBe(100)
    expect(await redis.get('none')).toBeNull()
    expect(await redis.incrby('n', 5)).toBe(5)
    expect(await redis.set('n', 1, { nx: true })).toBeNull()
    expect(await redis.mget('n', 'none')).toEqual([5, null])
    expect(await redis.ping()).toBe('PONG')
  })

  it('@upstash/redis sends pipelines and transactions', async () => {
    const pipeline = redis.pipeline()
    pipeline.set('a', 1)
    pipeline.incr('a')
    pipeline.get('a')
    expect(await pipeline.exec()).toEqual(['OK', 2, 2])
    const transaction = redis.multi()
    transaction.incrby('a', 40)
    transaction.zadd('z', { score: 1, member: 'm' })
    transaction.zrange('z', 0, -1)
    expect(await transaction.exec()).toEqual([42, 1, ['m']])
    const failing = redis.pipeline().hset('a', { field: 1 }).get('a')
    expect(await failing.exec({ keepErrors: true })).toMatchObject([
      { error: expect.stringContaining('WRONGTYPE') as string },
      { result: 42 },
    ])
  })

  it('@upstash/redis loads and runs scripts', async () => {
    const source = "return { KEYS[1], ARGV[1], redis.call('INCR', KEYS[1]), { 'OK' } }"
    expect(await redis.eval(source, ['k'], ['v'])).toEqual(['k', 'v', 1, ['OK']])
    const sha = await redis.scriptLoad(source)
    expect(await redis.evalsha(sha, ['k'], ['v'])).toEqual(['k', 'v', 2, ['OK']])
    expect(await redis.scriptExists(sha)).toEqual([1])
    expect(await redis.scriptFlush()).toBe('OK')
    await expect(redis.evalsha(sha, ['k'], ['v'])).rejects.toThrow('NOSCRIPT')
    const script = redis.createScript<unknown[]>(`#!lua flags=allow-key-locking\n${source}`)
    expect(await script.exec(['k'], ['v'])).toEqual(['k', 'v', 3, ['OK']])
    expect(await script.exec(['k'], ['v'])).toEqual(['k', 'v', 4, ['OK']])
  })

  it('@upstash/redis reads and writes sorted sets and hashes', async () => {
    const members = [
      { score: 2, member: 'b' },
      { score: 1, member: 'a' },
    ] as const
    expect(await redis.zadd('z', ...members)).toBe(2)
    expect(await redis.zrange('z', 0, -1, { withScores: true })).toEqual(['a', 1, 'b', 2])
    expect(await redis.zrange('z', 2, 3, { byScore: true })).toEqual(['b'])
    expect(await redis.zscore('z', 'a')).toBe(1)
    expect(await redis.zremrangebyscore('z', 0, 1)).toBe(1)
    expect(await redis.hset('h', { a: 1, b: 'text' })).toBe(2)
    expect(await redis.hgetall('h')).toEqual({ a: 1, b: 'text' })
    expect(await redis.hincrby('h', 'a', 2)).toBe(3)
    expect(await redis.scan(0, { match: 'h*' })).toEqual(['0', ['h']])
  })

  it('@upstash/redis reports a failed command', async () => {
    await redis.set('a', 'x')
    await expect(redis.incr('a')).rejects.toThrow('ERR value is not an integer')
    const intruder = new Redis({ url: server.url, token: 'wrong' })
    await expect(intruder.get('a')).rejects.toThrow('WRONGPASS')
  })

  it.each([
    ['slidingWindow', Ratelimit.slidingWindow(3, '1 h')],
    ['fixedWindow', Ratelimit.fixedWindow(3, '1 h')],
    ['tokenBucket', Ratelimit.tokenBucket(3, '1 h', 3)],
  ])('@upstash/ratelimit limits by %s', async (prefix, limiter) => {
    const ratelimit = new Ratelimit({ redis, limiter, prefix, ephemeralCache: false })
    const successes: boolean[] = []
    for (let index = 0; index < 5; index += 1) {
      const { success, pending, reason } = await ratelimit.limit('user')
      await pending
      expect(reason).toBeUndefined()
      successes.push(success)
    }
    expect(successes).toEqual([true, true, true, false, false])
    expect(await ratelimit.getRemaining('user')).toMatchObject({ remaining: 0 })
    await ratelimit.resetUsedTokens('user')
    expect(await ratelimit.getRemaining('user')).toMatchObject({ remaining: 3 })
    expect((await ratelimit.limit('user')).success).toBe(true)
  })
})
