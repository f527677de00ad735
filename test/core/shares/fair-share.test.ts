import {
  ConfigError,
  createLimiter,
  dailyCap,
  definePlans,
  manualClock,
  packed,
  rollout,
  slidingWindow,
  slidingWindows,
  type Policy,
} from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { fairShare, sharesAlgorithm, type FairShareOptions } from '@sluice/core/fair-share'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { objectsInProcess } from '../../support/objects.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { keysUnder } from '../../support/redis.ts'
import { NOON } from '../../support/times.ts'

const shared = sharedRedis()

const gpu = slidingWindow({ name: 'gpu', limit: 100, window: '1m', per: 'global' })
const between = ['tenant'] as const
const [A, B] = [{ tenant: 'a' }, { tenant: 'b' }]

/** The option that an error names, and its text. */
function refusal(make: () => unknown): [string | undefined, string] {
  try {
    make()
  } catch (error) {
    if (error instanceof ConfigError) return [error.option, error.message]
  }
  return [undefined, 'nothing was thrown']
}

describe('fairShare', () => {
  const shareOf = (policy: unknown, options: object = { between }) =>
    refusal(() => fairShare(policy as Policy, options as FairShareOptions))

  it.each<readonly [string, unknown]>([
    ['no policy', {}],
    ['a cap', dailyCap({ name: 'p', limit: 5, per: 'global' })],
    ['a lease', lease(slidingWindow({ name: 'p', limit: 5, window: '1m', per: 'global' }))],
    [
      'several windows',
      slidingWindows({
        name: 'p',
        windows: { a: { limit: 5, window: '1m' }, b: { limit: 9, window: '1h' } },
        per: 'global',
      }),
    ],
    ['stripes', slidingWindow({ name: 'p', limit: 5, window: '1m', per: 'global', stripes: 2 })],
    ['shares', fairShare(gpu, { between })],
    [
      'a name too long',
      slidingWindow({ name: 'n'.repeat(59), limit: 5, window: '1m', per: 'global' }),
    ],
  ])('refuses %s', (_, policy) => {
    expect(shareOf(policy)[0]).toBe('fairShare.policy')
  })

  it.each<readonly [string, object, string]>([
    ['no names', {}, 'fairShare.between'],
    ['an empty list', { between: [] }, 'fairShare.between'],
    ['global', { between: 'global' }, 'fairShare.between'],
    ['a weight of 0', { between, weight: 0 }, 'fairShare.weight'],
    ['a weight above 1,000', { between, weight: 1_001 }, 'fairShare.weight'],
    ['a guarantee below 0', { between, guarantee: -1 }, 'fairShare.guarantee'],
    ['an unknown option', { between, share: 1 }, 'fairShare.share'],
  ])('refuses %s', (_, options, option) => {
    expect(shareOf(gpu, options)[0]).toBe(option)
  })

  it('finds a weight that a plan lacks at construction', () => {
    const plans = definePlans({ free: { weight: 1 }, pro: { weight: 2_000 } })
    const policy = fairShare(gpu, { between, weight: ({ plan }) => plan['weight'] })
    const [option, message] = refusal(() =>
      createLimiter({ store: memory(), plans, policies: [policy] }),
    )
    expect([option, message]).toEqual(['fairShare.weight', expect.stringContaining('weight')])
  })

  it('finds a guarantee above the limit at construction', () => {
    const policy = fairShare(gpu, { between, guarantee: 101 })
    const [option, message] = refusal(() => createLimiter({ store: memory(), policies: [policy] }))
    expect([option, message]).toEqual(['fairShare.guarantee', expect.stringContaining('100')])
  })

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

  it('shares a packed window', async () => {
    const { limiter } = setUp([fairShare(packed(gpu), { between })])
    expect((await limiter.check(A, { cost: 98 })).allowed).toBe(true)
    expect((await limiter.check(A)).allowed).toBe(false)
    expect((await limiter.check(B)).allowed).toBe(true)
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

  it('does not compile with a limit that no plan has', () => {
    const plans = definePlans({ free: { weight: 1 }, pro: { weight: 4 } })
    const [option] = refusal(() =>
      createLimiter({
        store: memory(),
        plans,
        // @ts-expect-error -- misspelt
        policies: [fairShare(gpu, { between, weight: ({ plan }) => plan.wieght })],
      }),
    )
    expect(option).toBe('fairShare.weight')
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
