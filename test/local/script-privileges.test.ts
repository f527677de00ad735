import { readFileSync } from 'node:fs'
import { startLocal, startRedisServer } from '@sluice/local'
import type { LocalServer } from '@sluice/local'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post } from './client.ts'

const migrate = (port: number): string =>
  `return redis.call('MIGRATE', '127.0.0.1', '${port}', 'kept', '0', '1000')`

const FORBIDDEN: readonly [name: string, script: string][] = [
  ['MIGRATE', migrate(1)],
  ['SWAPDB', "return redis.call('SWAPDB', '0', '1')"],
  ['SELECT', "return redis.call('SELECT', '1')"],
  ['BLMOVE', "return redis.call('BLMOVE', 'a', 'b', 'LEFT', 'LEFT', '0')"],
  ['REPLICAOF', "return redis.call('REPLICAOF', 'NO', 'ONE')"],
  ['CONFIG', "return redis.call('CONFIG', 'SET', 'maxmemory', '1')"],
]

const REFUSAL = /can't run this command|not allowed from script|Unknown Redis command/

describe.each(['redis-server', 'embedded'] as const)('a script on %s', (engine) => {
  let server: LocalServer
  beforeAll(async () => {
    server = await startLocal({ engine })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await post(server, '/pipeline', [['FLUSHALL'], ['SET', 'kept', '1']])
  })
  const ask = async (...command: unknown[]): Promise<unknown> =>
    (await post(server, '/', command)).body

  it.each(FORBIDDEN)(
    'does not reach %s, which is refused outside of scripts',
    async (_, script) => {
      const sent = [
        ['EVAL', script, 0],
        ['EVAL', script.replace('call', 'pcall'), 0],
        ['EVAL', `#!lua flags=allow-key-locking\n${script}`, 0],
      ]
      const { body } = await post(server, '/pipeline', sent)
      expect(body).toHaveLength(sent.length)
      for (const { error } of body as { error?: string }[]) expect(error).toMatch(REFUSAL)
      const single = await post(server, '/', sent[0])
      expect(single.status).toBe(400)
      expect(await ask('GET', 'kept')).toEqual({ result: '1' })
    },
  )

  it('runs the commands that may be sent by themselves', async () => {
    expect(await ask('EVAL', "return redis.call('GET', KEYS[1])", 1, 'kept')).toEqual({
      result: '1',
    })
    expect(await ask('EVAL', "redis.call('FLUSHALL') return redis.call('DBSIZE')", 0)).toEqual({
      result: 0,
    })
  })
})

describe('a function on a redis-server of its own', () => {
  it('does not reach MIGRATE either', async () => {
    await using server = await startLocal({ engine: 'redis-server' })
    const library = `#!lua name=lib\nredis.register_function('move', function() ${migrate(1)} end)`
    expect((await post(server, '/', ['FUNCTION', 'LOAD', library])).body).toEqual({ result: 'lib' })
    expect((await post(server, '/', ['FCALL', 'move', 0])).status).toBe(400)
  })
})

describe('a Redis of your own', () => {
  it('is used with the rights of the user in its URL, restricted as the README shows', async () => {
    await using redis = await startRedisServer()
    const readme = readFileSync(new URL('../../packages/local/README.md', import.meta.url), 'utf8')
    const line = /^redis-cli (ACL SETUSER .+)$/m.exec(readme)?.[1] ?? ''
    const [name = '', ...args] = line.replaceAll("'", '').split(' ')
    const admin = new Redis(redis.url)
    await admin.call(name, ...args)
    admin.disconnect()

    const redisUrl = redis.url.replace('//', '//local:a-password@')
    await using server = await startLocal({ redisUrl })
    const ask = async (...command: unknown[]): Promise<unknown> =>
      (await post(server, '/', command)).body
    expect(await ask('SET', 'kept', '1')).toEqual({ result: 'OK' })
    for (const [, script] of FORBIDDEN.slice(0, 3)) {
      expect(await ask('EVAL', script, 0)).toHaveProperty('error')
    }
    expect(await ask('EVAL', "return redis.call('GET', 'kept')", 0)).toEqual({ result: '1' })
    const transaction = await post(server, '/multi-exec', [['INCR', 'kept']])
    expect(transaction.body).toEqual([{ result: 2 }])
  })
})
