import { createLimiter, fixedWindow, monthlyCap } from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { expect, it } from 'vitest'
import { countAllowed, limitsIn } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { FRESH_MS, limitOf, recordsApp, type App } from './support.ts'

// Commands are counted, so it is shared with nobody.
const own = ownRedisOverHttp()

/** An app over Redis with its scripts loaded, and the key of a tenant's record. */
async function setUp(): Promise<App & { key: string }> {
  const prefix = freshPrefix()
  const scripts = recordsApp(own.store()).isolate()
  await configure(scripts, { rpm: { limit: 1 } }, ACME)
  await scripts.check(ACME)
  const key = `${prefix}:config:default:tenant=acme`
  return { ...recordsApp(own.store(prefix)), key }
}

async function costOf(act: () => Promise<unknown>) {
  const before = own.local.requests
  const { calls } = await own.meter.measure(act)
  return { requests: own.local.requests - before, hget: calls.get('hget') ?? 0 }
}

/** The limit of a tenant, from 1 to 13. */
const limitFor = (tenant: number): number => 1 + ((tenant * 7_919) % 13)

it('each of 100,000 tenants has a limit of its own', async () => {
  const TENANTS = 100_000
  const prefix = freshPrefix()
  for (let tenant = 0; tenant < TENANTS;) {
    const pipeline = own.redis.pipeline()
    for (const end = tenant + 10_000; tenant < end; tenant += 1) {
      const settings = JSON.stringify({ budget: { limit: limitFor(tenant) } })
      pipeline.hset(`${prefix}:config:default:tenant=t${tenant}`, { settings })
    }
    await pipeline.exec()
  }
  const isolate = () =>
    createLimiter({
      store: own.store(prefix),
      policies: [
        monthlyCap({ name: 'budget', limit: 15, per: ['tenant'] }),
        fixedWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] }),
      ],
      extensions: [
        runtimeConfiguration({ allow: { budget: ['limit'] }, partitions: partitionRecords() }),
      ],
    })
  const [one, two] = [isolate(), isolate()]
  const sample = Array.from({ length: 300 }, (_, index) => (index * 48_271) % TENANTS)
  const allowed = await Promise.all(
    sample.map(async (number) => {
      const tenant = `t${number}`
      // Both isolates count on one budget.
      const first = (await one.check({ tenant })).allowed ? 1 : 0
      return first + (await countAllowed(two, { tenant }))
    }),
  )
  expect(allowed).toEqual(sample.map(limitFor))
  expect(await countAllowed(one, { tenant: 'none' })).toBe(15)
  expect(await readConfiguration(two, { tenant: 't99999' })).toEqual([
    { policy: 'budget', subject: { tenant: 't99999' }, settings: { limit: limitFor(99_999) } },
  ])
})

it('a decision is one request; each partition has one more in the first decision of an isolate', async () => {
  const { clock, isolate } = await setUp()
  const limiter = isolate()
  const check = (tenant: string) => () => limiter.check({ tenant })
  // The first of all also loads the settings of whole policies, in the same request: two fields.
  expect(await costOf(check('acme'))).toEqual({ requests: 2, hget: 3 })
  expect(await costOf(check('other'))).toEqual({ requests: 2, hget: 1 })
  expect(await costOf(check('acme'))).toEqual({ requests: 1, hget: 0 })
  clock.advance(FRESH_MS)
  // Along with it goes the version of the settings of whole policies.
  expect(await costOf(check('acme'))).toEqual({ requests: 1, hget: 2 })
  expect(await costOf(check('other'))).toEqual({ requests: 1, hget: 1 })
  expect(await costOf(check('acme'))).toEqual({ requests: 1, hget: 0 })
})

it('a change is a read and a write, of that record alone', async () => {
  const { isolate, key } = await setUp()
  const limiter = isolate()
  const change = () => configure(limiter, { rpm: { limit: 9 }, bucket: { burst: 4 } }, ACME)
  expect((await costOf(change)).requests).toBe(2)
  expect(await own.redis.hgetall(key)).toEqual({
    settings: '{"rpm":{"limit":9},"bucket":{"burst":4}}',
  })
  expect(await own.redis.exists(key.replace(':tenant=acme', ''))).toBe(0)
  // Nothing is written if nothing changes.
  expect((await costOf(change)).requests).toBe(1)
})

it('a record with settings never expires; one without goes within a minute', async () => {
  const { isolate, key } = await setUp()
  const limiter = isolate()
  await configure(limiter, { rpm: { limit: 9 } }, ACME)
  expect(await own.redis.pttl(key)).toBe(-1)
  await removeConfiguration(limiter, ACME)
  const ttl = await own.redis.pttl(key)
  expect(ttl).toBeGreaterThan(0)
  expect(ttl).toBeLessThanOrEqual(60_000)
  await configure(limiter, { rpm: { limit: 8 } }, ACME)
  expect(await own.redis.pttl(key)).toBe(-1)
  // Nothing to remove: nothing is written.
  await removeConfiguration(limiter, { tenant: 'none' })
  expect(await own.redis.exists(key.replace('acme', 'none'))).toBe(0)
})

it('records that are written or deleted by hand apply within 5 s', async () => {
  const { clock, isolate, key } = await setUp()
  const limiter = isolate()
  await limiter.check(ACME)
  await own.redis.hset(key, { settings: '{ "rpm": { "limit": 8 } }' })
  clock.advance(FRESH_MS)
  await limiter.check(ACME)
  expect(await limitOf(limiter, 'rpm')).toBe(8)
  await own.redis.del(key)
  clock.advance(FRESH_MS)
  await limiter.check(ACME)
  expect(await limitOf(limiter, 'rpm')).toBe(10)
})

const RECORDS: Record<string, string> = {
  'no JSON': 'limit=5',
  'cut off': '{"rpm":{"limit":5}',
  empty: '',
  null: 'null',
  'a number': '5',
  'a list': '[{"policy":"rpm","settings":{"limit":5}}]',
}

it.each(Object.entries(RECORDS))(
  'a record that is %s is ignored, reported once a minute, and can be replaced',
  async (_, settings) => {
    const { clock, isolate, key, problems } = await setUp()
    await own.redis.hset(key, { settings })
    const limiter = isolate()
    for (let time = 0; time < 3; time += 1) {
      expect(limitsIn(await limiter.check(ACME))).toEqual({ rpm: 10, bucket: 30, all: 1_000 })
      clock.advance(FRESH_MS)
    }
    expect(problems.map(({ code }) => code)).toEqual(['invalid_configuration'])
    await configure(limiter, { rpm: { limit: 9 } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(9)
  },
)

it('the valid settings of a record apply even if others are invalid, which a change keeps', async () => {
  const { isolate, key, problems } = await setUp()
  const bad = {
    rmp: { limit: 1 },
    constructor: { limit: 1 },
    all: { limit: 1 },
    byUser: { limit: 1 },
    later: 7,
    bucket: { limit: 1e12, burst: 'x', size: 4 },
  }
  const settings = JSON.stringify({ ...bad, rpm: { limit: 8, enabled: 50 } })
  await own.redis.hset(key, { settings })
  const limiter = isolate()
  expect(limitsIn(await limiter.check({ ...ACME, user: 'u1' }))).toEqual({
    rpm: 8,
    byUser: 20,
    bucket: 30,
    all: 1_000,
  })
  expect(problems).toHaveLength(9)
  expect(JSON.stringify(problems)).not.toMatch(/acme|u1/)
  await configure(limiter, { rpm: { limit: 7, enabled: null } }, ACME)
  const stored: unknown = JSON.parse((await own.redis.hget(key, 'settings')) ?? '')
  expect(stored).toEqual({ ...bad, rpm: { limit: 7 } })
})

it('foreign data under the key is ignored and kept', async () => {
  const { isolate, key } = await setUp()
  await own.redis.set(key, 'not ours')
  const limiter = isolate()
  expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
  await expect(configure(limiter, { rpm: { limit: 1 } }, ACME)).rejects.toMatchObject({
    code: 'store_refused',
  })
  expect(await own.redis.get(key)).toBe('not ours')
})
