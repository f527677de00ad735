import { createLimiter, manualClock, rollout, slidingWindow } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { fairShare, sharesAlgorithm } from '@sluice/core/fair-share'
import { defineManifest } from '@sluice/core/manifest'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../../support/limiters.ts'
import { objectsInProcess } from '../../../support/objects.ts'
import { sharedRedis } from '../../../support/running-redis.ts'
import { keysUnder } from '../../../support/redis.ts'
import { NOON } from '../../../support/times.ts'
import { refusal } from './refusal.ts'

const shared = sharedRedis()

const gpu = slidingWindow({ name: 'gpu', limit: 100, window: '1m', per: 'global' })
const between = ['tenant'] as const
const [A, B] = [{ tenant: 'a' }, { tenant: 'b' }]

describe('a shared limit', () => {
  it('says which dimension a subject lacks, and counts those without it together if they are let in', async () => {
    const { limiter } = setUp([fairShare(gpu, { between })])
    await expect(limiter.check({})).rejects.toThrow('subject.tenant')
    const open = slidingWindow({
      name: 'gpu',
      limit: 100,
      window: '1m',
      per: ['model'],
      onMissing: 'skip',
    })
    const lenient = setUp([fairShare(open, { between })]).limiter
    const nameless = await lenient.check({ model: 'm' }, { cost: 60 })
    expect(nameless.policies.map(({ name }) => name)).toEqual(['gpu', 'gpu.share'])
  })

  it('follows the settings of its limit at run time', async () => {
    const configuration = runtimeConfiguration({ allow: { gpu: ['limit'] } })
    const clock = manualClock(NOON)
    const limiter = createLimiter({
      store: memory(),
      clock,
      policies: [fairShare(gpu, { between })],
      extensions: [configuration],
    })
    await configure(limiter, { gpu: { limit: 50 } })
    clock.advance(6_000)
    await limiter.check(A, { cost: 0 })
    const decision = await limiter.check(A, { cost: 50 })
    expect(decision.policies.map(({ limit }) => limit)).toEqual([50, 50])
    const [option] = refusal(() =>
      createLimiter({
        store: memory(),
        policies: [fairShare(gpu, { between })],
        extensions: [runtimeConfiguration({ allow: { 'gpu.share': ['limit'] } })],
      }),
    )
    expect(option).toContain('gpu.share')
  })

  it('shares a limit that is configured at run time, from then on', async () => {
    const policy = slidingWindow({ name: 'gpu', limit: 'configured', window: '1m', per: 'global' })
    const limiter = createLimiter({
      store: memory(),
      clock: manualClock(NOON),
      policies: [fairShare(policy, { between })],
      extensions: [runtimeConfiguration({ allow: { gpu: ['limit'] } })],
    })
    expect((await limiter.check(A, { cost: 500 })).allowed).toBe(true)
    await configure(limiter, { gpu: { limit: 50 } })
    expect((await limiter.check(A, { cost: 49 })).policies.map(({ limit }) => limit)).toEqual([
      50, 50,
    ])
    expect((await limiter.check(A)).allowed).toBe(false)
    expect((await limiter.check(B)).allowed).toBe(true)
  })

  it('keeps room for the first request of a newcomer', async () => {
    for (const [headroom, gets] of [
      [undefined, false],
      [20, true],
    ] as const) {
      const policy = fairShare(gpu, { between, ...(headroom && { headroom }) })
      const { limiter } = setUp([policy])
      // oxlint-disable-next-line no-await-in-loop -- one after another
      for (let request = 0; request < 100; request += 1) await limiter.check(A)
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect((await limiter.check(B, { cost: 20 })).allowed).toBe(gets)
    }
  })

  it('counts in Durable Objects, also when their memory is lost', async () => {
    const clock = manualClock(NOON)
    const objects = objectsInProcess({ algorithms: [sharesAlgorithm] }, () => clock())
    const policies = [fairShare(gpu, { between, weight: ({ route }) => (route === 'r' ? 3 : 1) })]
    const inObjects = objects.store({ shardBy: 'global', prefix: 'shares', timeoutMs: 30_000 })
    const limiters = [memory(), inObjects].map((store) => createLimiter({ store, clock, policies }))
    for (let request = 0; request < 300; request += 1) {
      clock.advance(request % 7 === 0 ? 4_000 : 90)
      if (request % 50 === 0) objects.restart()
      const subject = { tenant: `t${request % 4}`, route: request % 4 === 1 ? 'r' : 'q' }
      // oxlint-disable-next-line no-await-in-loop -- a history
      const [here, there] = await Promise.all(
        limiters.map((limiter) => limiter.check(subject, { cost: 1 + (request % 9) })),
      )
      expect(there?.policies).toEqual(here?.policies)
      expect(there?.degraded).toBeUndefined()
    }
  })

  it('is refused over several databases: it counts for tenants of all', () => {
    const store = sharded({ eu1: memory(), eu2: memory() })
    const [option] = refusal(() =>
      createLimiter({ store, policies: [fairShare(gpu, { between })] }),
    )
    expect(option).toBe('policies.gpu.per')
  })

  it('follows the overrides of its limit in a manifest', async () => {
    const manifest = defineManifest({
      policies: [fairShare(gpu, { between })],
      routes: [
        { path: '/a', id: 'a' },
        { path: '/b', id: 'b', overrides: { gpu: { limit: 50 } } },
        { path: '/c', id: 'c', overrides: { gpu: false } },
      ],
    })
    const { limiter } = setUp(manifest.policies)
    const limitsOn = async (route: string) =>
      (await limiter.check({ ...A, route })).policies.map(({ limit }) => limit)
    expect(await limitsOn('a')).toEqual([100, 100])
    expect(await limitsOn('b')).toEqual([50, 50])
    expect(await limitsOn('c')).toEqual([])
    const overrides = { 'gpu.share': { limit: 50 } }
    const [option] = refusal(() =>
      defineManifest({
        policies: [fairShare(gpu, { between })],
        routes: [{ path: '/a', id: 'a', overrides }],
      }),
    )
    expect(option).toContain('overrides.gpu.share')
  })

  it('is rolled out with its limit', async () => {
    const half = slidingWindow({
      name: 'gpu',
      limit: 10,
      window: '1m',
      per: ['model'],
      rollout: rollout({ enforced: 50 }),
    })
    const { limiter } = setUp([fairShare(half, { between })])
    for (let model = 0; model < 40; model += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one limiter
      const { policies } = await limiter.check({ model: `m${model}`, ...A })
      expect(policies[1]?.enforced).toBe(policies[0]?.enforced)
    }
  })

  it('keeps no denial of one tenant for another', async () => {
    const limiter = createLimiter({
      store: cacheDenials(memory()),
      clock: manualClock(NOON),
      policies: [fairShare(gpu, { between })],
    })
    await limiter.check(A, { cost: 98 })
    expect((await limiter.check(A)).allowed).toBe(false)
    expect((await limiter.check(B)).allowed).toBe(true)
  })

  it('writes nothing for a denial, even in a tenth that nobody was charged in', async () => {
    const clock = manualClock(NOON)
    const { limiter, prefix } = shared.setUp([fairShare(gpu, { between })], { clock })
    const values = async () =>
      Promise.all(
        (await keysUnder(shared.redis, prefix))
          .toSorted()
          .map((key) => shared.redis.dumpBuffer(key)),
      )
    await limiter.check(A, { cost: 98 })
    clock.advance(13_000)
    const before = await values()
    expect((await limiter.check(A)).allowed).toBe(false)
    expect(await values()).toEqual(before)
  })

  it('allows a request at its retry time', async () => {
    const { limiter, clock } = setUp([fairShare(gpu, { between })])
    await limiter.check(A, { cost: 60 })
    clock.advance(20_000)
    await limiter.check(A, { cost: 38 })
    await limiter.check(B)
    const denied = await limiter.check(A, { cost: 30 })
    expect(denied.allowed).toBe(false)
    clock.advance(denied.retryAfterMs ?? 0)
    expect((await limiter.check(A, { cost: 30 })).allowed).toBe(true)
  })

  it('counts what was used once a reservation is settled', async () => {
    const tokens = slidingWindow({
      name: 'gpu',
      limit: 1_000,
      window: '1m',
      per: 'global',
      unit: 'token',
    })
    const { limiter } = setUp([fairShare(tokens, { between })])
    const call = await reserve(limiter, A, { cost: { token: 900 } })
    if (!call.allowed) throw new Error('It fits')
    expect((await limiter.check(A, { cost: { token: 100 } })).allowed).toBe(false)
    await call.settle({ token: 100 })
    expect((await limiter.check(A, { cost: { token: 500 } })).allowed).toBe(true)
  })
})
