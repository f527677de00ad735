import { createLimiter, dailyCap, slidingWindow, type Limiter, type Policy } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import { Redis as UpstashClient } from '@upstash/redis'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../support/redis.ts'
import { freshPrefix } from '../support/stores.ts'

const ACME = { tenant: 'acme', route: 'evaluate' }
const common = { limit: 3, per: ['tenant'] } as const
const one: Policy[] = [slidingWindow({ name: 'rpm', window: '1m', ...common })]
const four: Policy[] = [
  dailyCap({ name: 'daily', ...common }),
  ...one,
  slidingWindow({ name: 'rps', window: '1s', ...common }),
  slidingWindow({ name: 'all', window: '1h', limit: 1_000, per: 'global' }),
]

// Scripts are flushed here, so this Redis is shared with nobody.
let server: RedisServer
let redis: Redis
let local: LocalServer
let stock: LocalServer

beforeAll(async () => {
  server = await startRedisServer()
  redis = connect(server.url)
  local = await startLocal({ redisUrl: server.url })
  stock = await startLocal({ redisUrl: server.url, scriptFlag: false })
})
afterAll(async () => {
  redis.disconnect()
  await local.close()
  await stock.close()
  await server.stop()
})

/** A limiter over a store that nobody has used. */
function fresh({ url, token }: LocalServer, policies: Policy[], viaClient = false): Limiter {
  const options = { prefix: freshPrefix(), timeoutMs: 30_000 }
  const store = viaClient
    ? upstash({ redis: new UpstashClient({ url, token }), ...options })
    : upstash({ url, token, ...options })
  return createLimiter({ store, policies })
}

/** HTTP requests that `act` makes to `target`; each must end in a sound decision. */
async function requestsOf(
  target: LocalServer,
  act: () => Promise<{ degraded: unknown }>,
): Promise<number> {
  const before = target.requests
  expect((await act()).degraded).toBeUndefined()
  return target.requests - before
}

describe.each([
  ['the built-in transport', false],
  ['the @upstash/redis client', true],
])('with %s', (_, viaClient) => {
  it.each([
    ['one policy', one],
    ['four policies', four],
  ])('%s: a check is one HTTP request, and two at a cold script cache', async (_name, policies) => {
    const limiter = fresh(local, policies, viaClient)
    const check = () => requestsOf(local, () => limiter.check(ACME))
    await redis.script('FLUSH')
    expect(await check()).toBe(2)
    expect(await check()).toBe(1)
    expect(await requestsOf(local, () => limiter.peek(ACME))).toBe(1)
    expect(await check()).toBe(1)
    // Denied by now.
    expect(await check()).toBe(1)
    await redis.script('FLUSH')
    expect(await check()).toBe(2)
    expect(await check()).toBe(1)
    // FLUSHALL keeps scripts.
    await redis.flushall()
    expect(await check()).toBe(1)
  })

  it('another store finds the script that the first one left', async () => {
    await fresh(local, one, viaClient).check(ACME)
    expect(await requestsOf(local, () => fresh(local, one, viaClient).check(ACME))).toBe(1)
  })

  it('a Redis that refuses the script flag costs a store three requests once', async () => {
    const limiter = fresh(stock, one, viaClient)
    const check = () => requestsOf(stock, () => limiter.check(ACME))
    await redis.script('FLUSH')
    expect(await check()).toBe(3)
    expect(await check()).toBe(1)
    await redis.script('FLUSH')
    expect(await check()).toBe(2)
    expect(await check()).toBe(1)
  })

  it('no concurrent check is lost when a store learns that the flag is refused', async () => {
    const limiter = fresh(stock, one, viaClient)
    await redis.script('FLUSH')
    const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.check(ACME)))
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
  })

  it('a reset is one request whatever the number of policies', async () => {
    const limiter = fresh(local, four, viaClient)
    await limiter.check(ACME)
    const before = local.requests
    await limiter.reset(ACME)
    expect(local.requests - before).toBe(1)
    expect((await limiter.peek(ACME)).policies.map(({ remaining }) => remaining)).toEqual([
      3, 3, 3, 999,
    ])
  })
})
