import {
  configure,
  readHistory,
  undoConfiguration,
  readConfiguration,
  removeConfiguration,
} from '@sluice/core/configuration'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { limitsIn } from '../../support/decisions.ts'
import { app, limitOf, FRESH_MS, type App } from './support.ts'

describe('over Redis', () => {
  // Commands are counted, so it is shared with nobody.
  const own = ownRedisOverHttp()

  /** An app over Redis with its scripts loaded. */
  async function setUp(): Promise<App & { key: string }> {
    const prefix = freshPrefix()
    const store = own.store(prefix)
    const { isolate } = app(own.store())
    const scripts = isolate()
    await configure(scripts, { rpm: { limit: 1 } })
    await scripts.check(ACME)
    return { ...app(store), key: `${prefix}:config:default` }
  }

  async function costOf(act: () => Promise<unknown>) {
    const before = own.local.requests
    const { calls } = await own.meter.measure(act)
    return { requests: own.local.requests - before, hget: calls.get('hget') ?? 0 }
  }

  it('a decision is one HTTP request without extra commands, for 5 s at a time', async () => {
    const { clock, isolate } = await setUp()
    const limiter = isolate()
    const check = () => limiter.check(ACME)
    // An isolate's first decision loads what is set.
    expect(await costOf(check)).toEqual({ requests: 2, hget: 2 })
    expect(await costOf(check)).toEqual({ requests: 1, hget: 0 })
    clock.advance(FRESH_MS)
    // The version is read along, by one command more.
    expect(await costOf(check)).toEqual({ requests: 1, hget: 1 })
    expect(await costOf(check)).toEqual({ requests: 1, hget: 0 })
  })

  it('a change costs two requests, plus two in each isolate that learns of it while it decides', async () => {
    const { clock, isolate } = await setUp()
    const [here, there] = [isolate(), isolate()]
    await here.check(ACME)
    await there.check(ACME)
    expect((await costOf(() => configure(here, { rpm: { limit: 9 } }))).requests).toBe(2)
    expect((await costOf(() => here.check(ACME))).requests).toBe(2)
    clock.advance(FRESH_MS)
    expect((await costOf(() => there.check(ACME))).requests).toBe(3)
    expect((await costOf(() => there.check(ACME))).requests).toBe(1)
  })

  it('an empty change writes nothing', async () => {
    const { isolate, key } = await setUp()
    const limiter = isolate()
    await configure(limiter, { rpm: null }, ACME)
    expect(await own.redis.exists(key)).toBe(0)
    await configure(limiter, { rpm: { limit: 9 } })
    const version = await own.redis.hget(key, 'version')
    await configure(limiter, { rpm: { limit: 9 } })
    await removeConfiguration(limiter, ACME)
    expect(await own.redis.hget(key, 'version')).toBe(version)
  })

  it('the settings are one readable document that does not expire', async () => {
    const { isolate, key } = await setUp()
    await configure(isolate(), { rpm: { limit: 9 } }, ACME)
    expect(JSON.parse((await own.redis.hget(key, 'settings')) ?? '')).toEqual([
      { policy: 'rpm', subject: ACME, settings: { limit: 9 } },
    ])
    expect(Object.keys(await own.redis.hgetall(key)).toSorted()).toEqual([
      'history',
      'settings',
      'version',
    ])
    expect(await own.redis.pttl(key)).toBe(-1)
  })

  it('a history that cannot be read is empty, and begins anew', async () => {
    const { isolate, key } = await setUp()
    const limiter = isolate()
    for (const text of ['{', '{}', '[null, 5, {"version": 1}]']) {
      await own.redis.hset(key, 'history', text)
      expect(await readHistory(limiter)).toEqual([])
      expect(await undoConfiguration(limiter)).toBeUndefined()
    }
    await configure(limiter, { rpm: { limit: 9 } })
    expect(await readHistory(limiter)).toHaveLength(1)
  })

  it('edits by hand apply within 5 s if the version changes too, as does a deletion', async () => {
    const { clock, isolate, key } = await setUp()
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 9 } })
    await limiter.check(ACME)
    const settings = JSON.stringify([{ policy: 'rpm', settings: { limit: 8 } }])
    await own.redis.hset(key, { settings, version: 'by hand' })
    clock.advance(FRESH_MS)
    await limiter.check(ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(8)
    await own.redis.del(key)
    clock.advance(FRESH_MS)
    await limiter.check(ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(10)
  })

  const DOCUMENTS: Record<string, string> = {
    'no JSON': 'limit=5',
    'cut off': '[{"policy":"rpm","settings":{"limit":5}}',
    null: 'null',
    'a number': '5',
    'an object': '{"rpm":{"limit":5}}',
  }

  it.each(Object.entries(DOCUMENTS))(
    'a document that is %s is ignored, reported once a minute, and can be replaced',
    async (_, settings) => {
      const { clock, isolate, key, problems } = await setUp()
      await own.redis.hset(key, { settings, version: '1' })
      const limiter = isolate()
      for (let time = 0; time < 3; time += 1) {
        expect(limitsIn(await limiter.check(ACME))).toEqual({ rpm: 10, bucket: 30, all: 1_000 })
        clock.advance(FRESH_MS)
      }
      expect(problems.map(({ code }) => code)).toEqual(['invalid_configuration'])
      expect(await readConfiguration(limiter)).toEqual([])
      await configure(limiter, { rpm: { limit: 9 } })
      expect(await limitOf(limiter, 'rpm')).toBe(9)
    },
  )

  it('the valid entries of a document apply even if others are invalid', async () => {
    const { isolate, key, problems } = await setUp()
    const bad: unknown[] = [
      null,
      7,
      'rpm',
      [],
      {},
      { settings: { limit: 1 } },
      { policy: 'rmp', settings: { limit: 1 } },
      { policy: 'constructor', settings: { limit: 1 } },
      { policy: ['rpm'], settings: { limit: 1 } },
      { policy: 'rpm' },
      { policy: 'rpm', settings: { limit: '1' } },
      { policy: 'rpm', settings: { limit: -1.5 } },
      { policy: 'rpm', settings: { burst: 5 } },
      { policy: 'rpm', subject: 'acme', settings: { limit: 1 } },
      { policy: 'rpm', subject: {}, settings: { limit: 1 } },
      { policy: 'rpm', subject: { tenant: '' }, settings: { limit: 1 } },
      { policy: 'rpm', subject: { tenant: 7 }, settings: { limit: 1 } },
      { policy: 'rpm', subject: { tenant: 'acme', user: 'u1' }, settings: { limit: 1 } },
      { policy: 'byUser', subject: ACME, settings: { limit: 1 } },
      { policy: 'all', subject: ACME, settings: { limit: 1 } },
      { policy: 'bucket', settings: { limit: 1e12 } },
    ]
    const good = [
      { policy: 'rpm', settings: { limit: 9 } },
      { policy: 'rpm', subject: ACME, settings: { limit: 8 } },
    ]
    const settings = JSON.stringify([...bad, ...good])
    await own.redis.hset(key, { settings, version: '1' })
    const limiter = isolate()
    expect(limitsIn(await limiter.check({ ...ACME, user: 'u1' }))).toEqual({
      rpm: 8,
      byUser: 20,
      bucket: 30,
      all: 1_000,
    })
    expect(await limitOf(limiter, 'rpm', { tenant: 'other' })).toBe(9)
    expect(problems).toHaveLength(bad.length)
    expect(JSON.stringify(problems)).not.toMatch(/acme|u1/)
    // They may be of another version of the app: a change leaves them.
    await configure(limiter, { rpm: { limit: 7 } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(7)
    expect(JSON.parse((await own.redis.hget(key, 'settings')) ?? '')).toHaveLength(bad.length + 2)
  })

  it('foreign data under the key is ignored and kept', async () => {
    const { isolate, key } = await setUp()
    await own.redis.set(key, 'not ours')
    const limiter = isolate()
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    await expect(configure(limiter, { rpm: { limit: 1 } })).rejects.toMatchObject({
      code: 'store_refused',
    })
    expect(await own.redis.get(key)).toBe('not ours')
  })
})
