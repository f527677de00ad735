import {
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  fixedWindow,
  slidingWindow,
  slidingWindows,
  tokenBucket,
} from '@sluice/core'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { sharedRedis } from '../../support/running-redis.ts'

const minute = { limit: 60, window: '1m', per: ['tenant'] } as const
const rpm = slidingWindow({ name: 'rpm', ...minute })

describe('mistakes in leases', () => {
  mistakesAreNamed([
    ['a bucket', () => lease(tokenBucket({ name: 'b', ...minute })), 'lease.policy'],
    [
      'calls in flight',
      () => lease(concurrency({ name: 'c', limit: 5, per: ['tenant'] })),
      'lease.policy',
    ],
    [
      'windows over one log',
      () =>
        lease(
          slidingWindows({
            name: 'w',
            per: ['tenant'],
            windows: { a: { limit: 1, window: '1s' }, b: { limit: 2, window: '1m' } },
          } as never),
        ),
      'lease.policy',
    ],
    ['stripes', () => lease(slidingWindow({ name: 's', ...minute, stripes: 2 })), 'lease.policy'],
    ['a lease of a lease', () => lease(lease(rpm)), 'lease.policy'],
    ['no policy', () => loosely(lease)(undefined), 'lease.policy'],
    ['a factory that was not called', () => loosely(lease)(slidingWindow), 'lease.policy'],
    ['longer than the window', () => lease(rpm, { duration: '61s' }), 'lease.duration'],
    ['no duration', () => lease(rpm, { duration: 0 }), 'lease.duration', 'invalid_duration'],
    ['no block', () => lease(rpm, { most: 0 }), 'lease.most'],
    ['too large a block', () => lease(rpm, { most: 10_001 }), 'lease.most'],
    ['a misspelt option', () => lease(rpm, { size: 5 } as never), 'lease.size', 'unknown_option'],
    ['no store', () => loosely(leased)(undefined), 'leased.store'],
    [
      'reservations that are switched on',
      () => leased(memory(), { reservations: true as never }),
      'leased.reservations',
    ],
    [
      'another function for reservations',
      () => leased(memory(), { reservations: reserve as never }),
      'leased.reservations',
    ],
    ['no leases', () => leased(memory(), { maxLeases: 0 }), 'leased.maxLeases'],
    [
      'a misspelt option of the store',
      () => leased(memory(), { max: 5 } as never),
      'leased.max',
      'unknown_option',
    ],
  ])
})

describe('a leased policy and its store', () => {
  const shared = sharedRedis()

  it.each([
    ['a sliding window', lease(slidingWindow({ name: 'everyone', ...minute }))],
    ['a daily cap', lease(dailyCap({ name: 'everyone', limit: 60, per: ['tenant'] }))],
  ])('cannot be in a Redis that is not leased: %s', async (_, policy) => {
    const { limiter } = shared.setUp([policy])
    await expect(limiter.check(ACME)).rejects.toMatchObject({
      name: 'ConfigError',
      option: 'store',
      message: expect.stringContaining('must be leased(…): policy "everyone" is leased'),
    })
    const redis = leased(shared.store())
    expect(await createLimiter({ store: redis, policies: [policy] }).check(ACME)).toMatchObject({
      allowed: true,
      degraded: undefined,
    })
    await expect(limiter.check(ACME)).rejects.toMatchObject({ option: 'store' })
  })

  it('are counted like others by a store in memory', async () => {
    const { limiter } = setUp([lease(rpm)])
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, source: 'memory' })
  })

  it('must not be leased without a leased policy', () => {
    expect(() => setUp([rpm], { store: leased(memory()) })).toThrow(/policies: one must be leased/)
  })

  it('does no input or output before the first decision', () => {
    expect(() => createLimiter({ store: leased(upstash()), policies: [lease(rpm)] })).not.toThrow()
  })
})

describe('the keys of a leased policy', () => {
  it('name a window that is longer by the lease, so that a unit counts until it can be used no more', () => {
    const [rule] = lease(rpm, { duration: '2s' })()
    expect(rule).toMatchObject({ windowMs: 60_000, keyspace: { name: 'rpm', params: [62_000] } })
  })

  it.each([
    ['fixed windows', fixedWindow({ name: 'hourly', limit: 5, window: '1h', per: ['tenant'] })],
    ['days', dailyCap({ name: 'daily', limit: 5, per: ['tenant'] })],
  ])('stay what they are for %s: the count goes on when it is leased', async (_, policy) => {
    const store = memory()
    const before = setUp([policy], { store })
    await before.limiter.check(ACME, { cost: 3 })
    const after = setUp([lease(policy)], { store: leased(store), clock: before.clock })
    expect((await after.limiter.peek(ACME)).policies[0]?.remaining).toBe(2)
  })
})

it('a leased policy knows the plans of its limiter', async () => {
  const limiter = createLimiter({
    store: leased(memory()),
    plans: definePlans({ starter: { rpm: 1 }, growth: { rpm: 2 } }),
    policies: [
      lease(
        slidingWindow({
          name: 'rpm',
          limit: ({ plan }) => plan.rpm,
          window: '1m',
          per: ['tenant'],
        }),
      ),
    ],
  })
  expect(await limiter.check({ tenant: 'a', plan: 'growth' }, { cost: 2 })).toMatchObject({
    allowed: true,
  })
  expect(await limiter.check({ tenant: 'b', plan: 'starter' }, { cost: 2 })).toMatchObject({
    allowed: false,
  })
})
