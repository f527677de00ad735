import { CommandError } from '../../packages/local/dist/engines/engine.js'
import { startEmbedded } from '../../packages/local/dist/engines/embedded/engine.js'
import type { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ownRedis } from '../support/running-redis.ts'
import { CALM, FREEING, REFUSALS, type Condition } from './faults.ts'
import { IN_REDIS } from './wrappers.ts'
import { World } from './world.ts'

const own = ownRedis()

/** Sends a command, and returns the reply as the world's Redis has it. */
async function ask(redis: Redis, [name = '', ...args]: readonly string[]): Promise<unknown> {
  try {
    return await redis.call(name, ...args)
  } catch (error) {
    return { error: (error as Error).message }
  }
}

/** A hash has its fields in any order, also within a reply. */
function inOrder(reply: unknown): unknown {
  if (!Array.isArray(reply)) return reply
  return reply.every((one) => typeof one === 'string') ? reply.toSorted() : reply.map(inOrder)
}

describe('a history of the world', () => {
  beforeEach(async () => {
    await own.redis.flushall()
    await own.redis.script('FLUSH')
  })

  it.each(IN_REDIS)(
    'is the same, reply by reply, on redis-server by the clocks of the callers, %s',
    async (wrappers) => {
      const said: [command: readonly string[], reply: unknown][] = []
      // Keys do not expire meanwhile, and scripts stay: what a Redis forgets is tested elsewhere.
      const weather = { ...CALM, trouble: 0.05, deathMs: 5_000, skew: true }
      await World.run(IN_REDIS.indexOf(wrappers) + 2, {
        decisions: 600,
        replace: { wrappers, weather, isUpstash: false, looksUpPlans: false, configures: false },
        record: (command, reply) => void said.push([command, reply]),
      })
      for (const [command, reply] of said) {
        expect(inOrder(await ask(own.redis, command))).toEqual(inOrder(reply))
      }
      expect(said.length).toBeGreaterThan(100)
    },
  )
})

describe('a Redis in trouble refuses as redis-server does', () => {
  const COMMANDS: readonly (readonly string[])[] = [
    ['SET', 'a', '1'],
    ['ZADD', 'set', '1', 'a'],
    ['HSET', 'hash', 'field', '1'],
    ['INCR', 'n'],
    ['GET', 'a'],
    ['DEL', 'b'],
    ['PEXPIRE', 'a', '1000'],
    ['ZREM', 'set', 'a'],
    ['HDEL', 'hash', 'field'],
    ['EVAL', "return redis.call('SET', 'a', '1')", '0'],
    ['EVAL', "redis.call('GET', 'a') return redis.call('ZADD', 'set', '1', 'a')", '0'],
    [
      'EVAL',
      "redis.call('ZREMRANGEBYSCORE', 'set', 0, 1) return redis.call('ZADD', 'set', '1', 'a')",
      '0',
    ],
    ['EVAL', "return redis.pcall('SET', 'a', '1').err", '0'],
    ['EVALSHA', 'ffffffffffffffffffffffffffffffffffffffff', '0'],
  ]
  const conditions: readonly [Condition, (redis: Redis) => Promise<unknown>][] = [
    ['full', (redis) => redis.config('SET', 'maxmemory', '1')],
    // Of a master that is not there: it stays a replica, and answers reads.
    ['read only', (redis) => redis.call('REPLICAOF', '127.0.0.1', '1')],
  ]

  afterEach(async () => {
    await own.redis.config('SET', 'maxmemory', '0')
    await own.redis.call('REPLICAOF', 'NO', 'ONE')
  })

  it.each(conditions)('%s', async (condition, make) => {
    const refusal = REFUSALS[condition as keyof typeof REFUSALS]
    const embedded = await startEmbedded({
      refuse: (name, isWrite) =>
        isWrite && (condition === 'read only' || !FREEING.has(name)) ? refusal : undefined,
    })
    await make(own.redis)
    for (const command of COMMANDS) {
      const [name = '', ...args] = command
      const reply = await embedded.execute([name, ...args])
      const ours =
        reply instanceof CommandError
          ? { error: reply.message }
          : Buffer.isBuffer(reply)
            ? reply.toString()
            : reply
      expect({ command, reply: ours }).toEqual({ command, reply: await ask(own.redis, command) })
    }
  })
})
