import { startEmbedded } from '../../packages/local/dist/engines/embedded/engine.js'
import { CommandError } from '../../packages/local/dist/engines/engine.js'
import type { Arg, Reply } from '../../packages/local/dist/engines/engine.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const START = Date.UTC(2026, 0, 31, 23, 59, 59, 999)

let now: number
let isReadOnly: boolean
let engine: Awaited<ReturnType<typeof startEmbedded>>
beforeEach(async () => {
  now = START
  isReadOnly = false
  engine = await startEmbedded({
    now: () => now,
    refuse: (_, isWrite) => (isReadOnly && isWrite ? 'READONLY no writes' : undefined),
  })
})
afterEach(() => engine.close())

async function run(name: string, ...args: Arg[]): Promise<unknown> {
  return readable(await engine.execute([name, ...args]))
}

function readable(reply: Reply): unknown {
  if (reply instanceof CommandError) return reply.message
  if (Buffer.isBuffer(reply)) return reply.toString()
  return Array.isArray(reply) ? reply.map(readable) : reply
}

describe('the embedded engine with a clock of its own', () => {
  it('answers TIME by it, each call of a millisecond later than the one before', async () => {
    expect(await run('TIME')).toEqual(['1769903999', '999000'])
    expect(await run('TIME')).toEqual(['1769903999', '999001'])
    now += 1
    expect(await run('EVAL', "return redis.call('TIME')", '0')).toEqual(['1769904000', '0'])
  })

  it('expires keys by it: not a millisecond early, and not one late', async () => {
    await run('SET', 'a', '1', 'PX', '1000')
    await run('SET', 'b', '1', 'PXAT', String(START + 1_000))
    now += 999
    expect(await run('MGET', 'a', 'b')).toEqual(['1', '1'])
    expect(await run('PTTL', 'a')).toBe(1)
    now += 1
    expect(await run('MGET', 'a', 'b')).toEqual([null, null])
  })

  it('goes on when the clock is set back', async () => {
    await run('SET', 'a', '1', 'PX', '1000')
    now -= 5_000
    expect(await run('PTTL', 'a')).toBe(6_000)
  })
})

describe('a snapshot of the embedded engine', () => {
  it('brings back every kind of value, with its expiry', async () => {
    await run('SET', 'text', 'a', 'PX', '1000')
    await run('HSET', 'hash', 'field', 'b')
    await run('ZADD', 'set', '1', 'one', '2', 'two')
    const snapshot = engine.snapshot()
    await run('SET', 'text', 'changed')
    await run('HSET', 'hash', 'field', 'changed')
    await run('ZADD', 'set', '3', 'one')
    await run('SET', 'new', '1')
    engine.restore(snapshot)
    expect(await run('DBSIZE')).toBe(3)
    expect(await run('GET', 'text')).toBe('a')
    expect(await run('PTTL', 'text')).toBe(1_000)
    expect(await run('HGET', 'hash', 'field')).toBe('b')
    expect(await run('ZRANGE', 'set', '0', '-1', 'WITHSCORES')).toEqual(['one', '1', 'two', '2'])
  })

  it('can be restored twice: what happens after it does not change it', async () => {
    await run('ZADD', 'set', '1', 'one')
    const snapshot = engine.snapshot()
    for (const member of ['two', 'three']) {
      engine.restore(snapshot)
      await run('ZADD', 'set', '0', member)
      expect(await run('ZRANGE', 'set', '0', '-1')).toEqual([member, 'one'])
    }
  })
})

describe('an embedded engine that refuses commands', () => {
  it('answers with the error and changes nothing, by itself and in a script', async () => {
    await run('SET', 'a', '1')
    isReadOnly = true
    expect(await run('SET', 'a', '2')).toBe('READONLY no writes')
    expect(await run('EVAL', "return redis.call('INCR', 'a')", '0')).toMatch(
      /^READONLY no writes script: /,
    )
    expect(await run('EVAL', "return redis.call('GET', 'a')", '0')).toBe('1')
  })

  it('lets a script that has written come to its end, as Redis does', async () => {
    engine = await startEmbedded({ refuse: (name) => (name === 'SET' ? 'OOM full' : undefined) })
    const end = "return redis.call('SET', 'a', '1')"
    expect(await run('EVAL', `redis.call('GET', 'a') ${end}`, '0')).toMatch(/^OOM full script: /)
    expect(await run('EVAL', `redis.call('DEL', 'a') ${end}`, '0')).toBe('OK')
  })
})
