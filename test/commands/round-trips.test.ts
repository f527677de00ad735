import { createLimiter, dailyCap, slidingWindow, type Limiter, type Policy } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { startLocal, type LocalServer } from '@sluice/local'
import { Redis as UpstashClient } from '@upstash/redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownRedisOverHttp } from '../support/running-redis.ts'
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
const own = ownRedisOverHttp()
let stock: LocalServer

beforeAll(async () => {
  const redisUrl = own.local.redisUrl ?? ''
  stock = await startLocal({ redisUrl, scriptFlag: false })
})
afterAll(() => stock.close())

/** A limiter over a store that nobody has used. */
function fresh({ url, token }: LocalServer, policies: Policy[], viaClient = false): Limiter {
  const options = { prefix: freshPrefix(), timeoutMs: 30_000 }
  const store = viaClient
    ? upstashRedis(new UpstashClient({ url, token }), options)
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
  ])(
    '%s: a check is one HTTP request, or two with a cold script cache',
    async (_name, policies) => {
      const limiter = fresh(own.local, policies, viaClient)
      const check = () => requestsOf(own.local, () => limiter.check(ACME))
      await own.redis.script('FLUSH')
      expect(await check()).toBe(2)
      expect(await check()).toBe(1)
      expect(await requestsOf(own.local, () => limiter.peek(ACME))).toBe(1)
      expect(await check()).toBe(1)
      // Denied by now.
      expect(await check()).toBe(1)
      await own.redis.script('FLUSH')
      expect(await check()).toBe(2)
      expect(await check()).toBe(1)
      // FLUSHALL keeps scripts.
      await own.redis.flushall()
      expect(await check()).toBe(1)
    },
  )

  it('another store finds the script that the first one loaded', async () => {
    await fresh(own.local, one, viaClient).check(ACME)
    expect(await requestsOf(own.local, () => fresh(own.local, one, viaClient).check(ACME))).toBe(1)
  })

  it('a Redis that refuses the script flag costs a store three requests, once', async () => {
    const limiter = fresh(stock, one, viaClient)
    const check = () => requestsOf(stock, () => limiter.check(ACME))
    await own.redis.script('FLUSH')
    expect(await check()).toBe(3)
    expect(await check()).toBe(1)
    await own.redis.script('FLUSH')
    expect(await check()).toBe(2)
    expect(await check()).toBe(1)
  })

  it('no concurrent check is lost when a store learns that the flag is refused', async () => {
    const limiter = fresh(stock, one, viaClient)
    await own.redis.script('FLUSH')
    const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.check(ACME)))
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
  })

  it('a reset is one request whatever the number of policies', async () => {
    const limiter = fresh(own.local, four, viaClient)
    await limiter.check(ACME)
    const before = own.local.requests
    await limiter.reset(ACME)
    expect(own.local.requests - before).toBe(1)
    expect((await limiter.peek(ACME)).policies.map(({ remaining }) => remaining)).toEqual([
      3, 3, 3, 999,
    ])
  })
})
