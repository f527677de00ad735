import type { Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CommandMeter } from '../support/command-meter.ts'
import { Answer } from '../support/answer.ts'
import { connect } from '../support/redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { callsOf, Watched } from '../support/watched-store.ts'
import { ACME, app, limitOf, limitsIn, RELY_MS, type App } from './support.ts'

describe('over Redis', () => {
  // Commands are counted, so it is shared with nobody.
  let server: RedisServer
  let local: LocalServer
  let redis: Redis
  beforeAll(async () => {
    server = await startRedisServer()
    local = await startLocal({ redisUrl: server.url })
    redis = connect(server.url)
  })
  afterAll(async () => {
    redis.disconnect()
    await local.close()
    await server.stop()
  })

  /** An app over Redis with its scripts loaded. */
  async function setUp(): Promise<App & { key: string }> {
    const { url, token } = local
    const prefix = freshPrefix()
    const store = upstash({ url, token, prefix, timeoutMs: 30_000 })
    const { isolate } = app(upstash({ url, token, prefix: freshPrefix(), timeoutMs: 30_000 }))
    const scripts = isolate()
    await scripts.configure({ rpm: { limit: 1 } })
    await scripts.check(ACME)
    return { ...app(store), key: `${prefix}:config:default` }
  }

  async function costOf(act: () => Promise<unknown>) {
    const before = local.requests
    const { calls } = await new CommandMeter(redis).measure(act)
    return { requests: local.requests - before, hget: calls.get('hget') ?? 0 }
  }

  it('a decision is one HTTP request and no command more, for 5 s at a time', async () => {
    const { clock, isolate } = await setUp()
    const limiter = isolate()
    const check = () => limiter.check(ACME)
    // An isolate's first decision loads what is set.
    expect(await costOf(check)).toEqual({ requests: 2, hget: 2 })
    expect(await costOf(check)).toEqual({ requests: 1, hget: 0 })
    clock.advance(RELY_MS)
    // The version is read along, by one command more.
    expect(await costOf(check)).toEqual({ requests: 1, hget: 1 })
    expect(await costOf(check)).toEqual({ requests: 1, hget: 0 })
  })

  it('a change costs two requests, and each isolate one when it sees it', async () => {
    const { clock, isolate } = await setUp()
    const [here, there] = [isolate(), isolate()]
    await here.check(ACME)
    await there.check(ACME)
    expect((await costOf(() => here.configure({ rpm: { limit: 9 } }))).requests).toBe(2)
    expect((await costOf(() => here.check(ACME))).requests).toBe(2)
    clock.advance(RELY_MS)
    expect((await costOf(() => there.check(ACME))).requests).toBe(1)
    expect((await costOf(() => there.check(ACME))).requests).toBe(2)
    expect((await costOf(() => there.check(ACME))).requests).toBe(1)
  })

  it('a change of nothing writes nothing', async () => {
    const { isolate, key } = await setUp()
    const limiter = isolate()
    await limiter.configure({ rpm: null }, ACME)
    expect(await redis.exists(key)).toBe(0)
    await limiter.configure({ rpm: { limit: 9 } })
    const version = await redis.hget(key, 'version')
    await limiter.configure({ rpm: { limit: 9 } })
    await limiter.reset(ACME, { configuration: true })
    expect(await redis.hget(key, 'version')).toBe(version)
  })

  it('what is set is one readable document that does not expire', async () => {
    const { isolate, key } = await setUp()
    await isolate().configure({ rpm: { limit: 9 } }, ACME)
    expect(JSON.parse((await redis.hget(key, 'settings')) ?? '')).toEqual([
      { policy: 'rpm', subject: ACME, settings: { limit: 9 } },
    ])
    expect(Object.keys(await redis.hgetall(key)).toSorted()).toEqual(['settings', 'version'])
    expect(await redis.pttl(key)).toBe(-1)
  })

  it('what is edited by hand holds within 5 s, if the version is changed too; what is deleted is gone', async () => {
    const { clock, isolate, key } = await setUp()
    const limiter = isolate()
    await limiter.configure({ rpm: { limit: 9 } })
    await limiter.check(ACME)
    const settings = JSON.stringify([{ policy: 'rpm', settings: { limit: 8 } }])
    await redis.hset(key, { settings, version: 'by hand' })
    clock.advance(RELY_MS)
    await limiter.check(ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(8)
    await redis.del(key)
    clock.advance(RELY_MS)
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
    'a document that is %s is ignored and told of, once a minute, and can be replaced',
    async (_, settings) => {
      const { clock, isolate, key, problems } = await setUp()
      await redis.hset(key, { settings, version: '1' })
      const limiter = isolate()
      for (let time = 0; time < 3; time += 1) {
        expect(limitsIn(await limiter.check(ACME))).toEqual({ rpm: 10, bucket: 30, all: 1_000 })
        clock.advance(RELY_MS)
      }
      expect(problems.map(({ code }) => code)).toEqual(['invalid_configuration'])
      expect(await limiter.configuration()).toEqual([])
      await limiter.configure({ rpm: { limit: 9 } })
      expect(await limitOf(limiter, 'rpm')).toBe(9)
    },
  )

  it('of a document whose entries are not all valid the valid ones hold', async () => {
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
    await redis.hset(key, { settings, version: '1' })
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
    await limiter.configure({ rpm: { limit: 7 } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(7)
    expect(JSON.parse((await redis.hget(key, 'settings')) ?? '')).toHaveLength(bad.length + 2)
  })

  it("someone else's data under the key is as good as nothing, and stays", async () => {
    const { isolate, key } = await setUp()
    await redis.set(key, 'not ours')
    const limiter = isolate()
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    await expect(limiter.configure({ rpm: { limit: 1 } })).rejects.toMatchObject({
      code: 'store_refused',
    })
    expect(await redis.get(key)).toBe('not ours')
  })
})

describe('while the store is down', () => {
  it('an isolate that knows what is set goes on with it', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = app(store)
    const limiter = isolate()
    await limiter.configure({ rpm: { limit: 2 } })
    await limiter.check(ACME)
    store.isDown = true
    clock.advance(60_000)
    const decisions = [
      await limiter.check(ACME),
      await limiter.check(ACME),
      await limiter.check(ACME),
    ]
    expect(decisions.map(({ allowed, degraded }) => [allowed, degraded?.mode])).toEqual([
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
    ])
  })

  it("an isolate that starts has the code's limits, asks once a decision, and loads when it is back", async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    await isolate().configure({ rpm: { limit: 2 } })
    store.isDown = true
    const limiter = isolate()
    const calls = await callsOf(store, async () => {
      expect(await limiter.check(ACME)).toMatchObject({
        degraded: { cause: 'store_unreachable', mode: 'local' },
        policies: [{ limit: 10 }, {}, {}],
      })
    })
    expect(calls).toEqual({ decisions: 0, reads: 1, writes: 0, resets: 0 })
    store.isDown = false
    expect(limitsIn(await limiter.check(ACME))).toMatchObject({ rpm: 2 })
  })

  it('a denial by what was known stands when what is new cannot be loaded', async () => {
    const store = new Watched(memory())
    const { clock, isolate } = app(store)
    const [here, there] = [isolate(), isolate()]
    for (let time = 0; time < 11; time += 1) await there.check(ACME)
    await here.configure({ rpm: { limit: 100 } })
    clock.advance(RELY_MS)
    const check = store.check.bind(store)
    vi.spyOn(store, 'check').mockImplementation((request) => {
      store.isDown = request.entries.length === 0
      return check(request)
    })
    expect(await there.check(ACME)).toMatchObject({ allowed: false, degraded: undefined })
  })

  it.each<[string, (limiter: Limiter) => Promise<unknown>]>([
    ['configure', (limiter) => limiter.configure({ rpm: { limit: 1 } })],
    ['configuration', (limiter) => limiter.configuration()],
    ['reset', (limiter) => limiter.reset(ACME, { configuration: true })],
  ])('%s throws', async (_, call) => {
    const store = new Watched(memory())
    const limiter = app(store).isolate()
    store.isDown = true
    await expect(call(limiter)).rejects.toMatchObject({ name: 'StoreError' })
  })
})

const checks = (limiter: Limiter) =>
  Promise.all(Array.from({ length: 50 }, () => limiter.check(ACME)))

describe('50 requests at once', () => {
  it('of an isolate that starts, or that is to see a change, load what is set once', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    const [here, there] = [isolate(), isolate()]
    await here.configure({ rpm: { limit: 1_000 } })
    const first = await callsOf(store, async () => {
      const limits = (await checks(there)).map((decision) => limitsIn(decision)['rpm'])
      expect(new Set(limits)).toEqual(new Set([1_000]))
    })
    expect(first).toEqual({ decisions: 50, reads: 1, writes: 0, resets: 0 })
    await there.configure({ rpm: { limit: 2_000 } })
    expect((await callsOf(store, () => checks(there))).reads).toBe(1)
  })

  it('ask a store that is down once for what is set', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    store.isDown = true
    const calls = await callsOf(store, async () => {
      const causes = (await checks(isolate())).map(({ degraded }) => degraded?.cause)
      expect(new Set(causes)).toEqual(new Set(['store_unreachable']))
    })
    expect(calls.reads).toBe(1)
  })

  it('wait a second at most for one that has been cut off', async () => {
    vi.useFakeTimers()
    try {
      const store = new Watched(memory())
      const { isolate } = app(store)
      await isolate().configure({ rpm: { limit: 4 } })
      const limiter = isolate()
      // As on Cloudflare: what a cancelled request awaits never comes.
      const read = vi.spyOn(store, 'check').mockReturnValueOnce(new Promise(() => {}))
      void limiter.check(ACME)
      const waits = limiter.check(ACME)
      await vi.advanceTimersByTimeAsync(1_100)
      expect(limitsIn(await waits)).toMatchObject({ rpm: 4 })
      read.mockRestore()
    } finally {
      vi.useRealTimers()
    }
  })
})

it('by a clock that is set back by an hour what is set is relied upon for 5 s, and no longer', async () => {
  const store = new Watched(memory())
  const { clock, isolate } = app(store)
  const [here, there] = [isolate(), isolate()]
  await there.check(ACME)
  clock.advance(-3_600_000)
  await here.configure({ rpm: { limit: 4 } })
  await there.check(ACME)
  expect(await limitOf(there, 'rpm')).toBe(4)
  clock.advance(-3_600_000)
  const check = vi.spyOn(store, 'check')
  await there.check(ACME)
  expect(check.mock.lastCall?.[0].reads).toHaveLength(1)
  await there.check(ACME)
  expect(check.mock.lastCall?.[0].reads).toEqual([])
})

describe('changes that meet', () => {
  it('a load that began before a change in the same isolate does not undo it', async () => {
    const store = new Watched(memory())
    const { isolate } = app(store)
    const limiter = isolate()
    const arrival = new Answer<void>()
    const check = store.check.bind(store)
    // The first load has read, and its answer is still on its way.
    vi.spyOn(store, 'check').mockImplementationOnce(async (request) => {
      const reply = await check(request)
      await arrival.promise
      return reply
    })
    const first = limiter.check(ACME)
    await expect.poll(() => store.calls.reads).toBe(1)
    await limiter.configure({ rpm: { limit: 4 } })
    arrival.resolve()
    await first
    expect(await limitOf(limiter, 'rpm')).toBe(4)
  })

  it('a change that always comes second is given up after twenty attempts, and says so', async () => {
    const store = new Watched(memory())
    const limiter = app(store).isolate()
    const write = vi.spyOn(store, 'write').mockResolvedValue(false)
    await expect(limiter.configure({ rpm: { limit: 4 } })).rejects.toMatchObject({
      name: 'StoreError',
      code: 'store_conflict',
    })
    expect(write).toHaveBeenCalledTimes(20)
  })

  it('a change whose answer is lost is seen by the next decision if it was made', async () => {
    const store = new Watched(memory())
    const limiter = app(store).isolate()
    await limiter.check(ACME)
    const write = store.write.bind(store)
    vi.spyOn(store, 'write').mockImplementationOnce(async (...args) => {
      await write(...args)
      throw new Error('lost')
    })
    await expect(limiter.configure({ rpm: { limit: 4 } })).rejects.toThrow('lost')
    expect(await limitOf(limiter, 'rpm')).toBe(4)
  })
})
