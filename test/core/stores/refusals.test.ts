import { createLimiter, listen, slidingWindow } from '@sluice/core'
import type { LuaOperation, Policy, Store } from '@sluice/core'
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
  regional: () => regional({ home: overRest(), here: overRest(), perRegion: ['rpm'] }),
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

const storeOf = (name: string): Store => {
  const store = STORES[name]?.() ?? tcp.get(name)?.make('sluice')
  if (!store) throw new Error(`There is no store "${name}"`)
  return store
}

const NAMES = [...Object.keys(STORES), ...TCP_CLIENT_NAMES]

const send = ([command = '', ...args]: readonly string[]) => server.redis.call(command, ...args)

describe.each(Object.entries(REFUSALS))('a Redis that refuses with %s', (word, [begin, end]) => {
  afterEach(() => send(end))

  it.each(NAMES)('is told by its word: %s', async (name) => {
    const store = storeOf(name)
    await send(begin)
    const error = await store.run({ ...write, startedAt: Date.now() }).catch((thrown) => thrown)
    expect(error).toMatchObject({ name: 'StoreError', code: 'store_refused', word })
    expect(error.message).toContain(error.reason)
    // The reply's text may quote keys.
    expect(JSON.stringify([error.message, error])).not.toContain('tenant')
  })
})

/** Mistakes in the Lua of an author, and the part of Redis' message that finds each. */
const MISTAKES = {
  'does not compile': { lua: 'local count = = 1', says: "near '='" },
  'reads a variable that does not exist': { lua: 'local c = coutn + 1', says: "'coutn'" },
  'fails by its own words': { lua: `error('the level is unknown')`, says: 'the level is unknown' },
}

describe.each(Object.entries(MISTAKES))('a script of your own that %s', (_, { lua, says }) => {
  it.each(NAMES)('is reported with the message of Redis: an operation, %s', async (name) => {
    const kind = { ...write.kind, lua: { ...write.kind.lua, script: () => lua } }
    const operation = { ...write, kind: { ...kind, name: `test.${lua}` }, startedAt: Date.now() }
    const error = await storeOf(name)
      .run(operation)
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'store_refused', word: 'ERR' })
    expect(error.reason).toContain(says)
  })

  it.each(NAMES)('is reported with the message of Redis: an algorithm, %s', async (name) => {
    const [rule] = slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })()
    if (!rule) throw new Error('slidingWindow has a rule')
    const { algorithm } = rule
    const twin = (params: readonly number[]) => ({ ...algorithm.lua(params), check: lua })
    const own = { ...algorithm, id: `test.${says.length}`, lua: twin }
    const policy: Policy = () => [{ ...rule, algorithm: own }]
    const problems: string[] = []
    const problem = ({ message }: { message: string }) => void problems.push(message)
    const extensions = [listen({ problem })]
    const limiter = createLimiter({ store: storeOf(name), policies: [policy], extensions })
    expect((await limiter.check({ tenant: 'acme' })).degraded?.cause).toBe('store_refused')
    expect(problems.join('\n')).toContain(says)
    expect(problems.join('\n')).not.toMatch(/acme|command was/)
  })
})
