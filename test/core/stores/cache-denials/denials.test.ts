import {
  createLimiter,
  concurrency,
  fixedWindow,
  slidingWindow,
  slidingWindows,
  type Store,
} from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { fitRange, reserve } from '@sluice/core/reservations'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ownRedis } from '../../../support/running-redis.ts'
import { ACME, setUp } from '../../../support/limiters.ts'
import { loosely, mistakesAreNamed } from '../../../support/mistakes.ts'
import { NOON } from '../../../support/times.ts'
import { callsOf, Watched } from '../../../support/watched-store.ts'
import { exhaust, setUpCache } from './support.ts'

const rpm = slidingWindow({ name: 'rpm', limit: 2, window: '3s', per: ['tenant'] })
const tokens = fixedWindow({ name: 'tpm', limit: 10, window: '1h', unit: 'token', per: ['tenant'] })
const own = ownRedis()

/** Moves the faked clock of the machine on. */
const pass = (ms: number): void => void vi.setSystemTime(Date.now() + ms)

const token = (units: number) => ({ cost: { token: units } })

describe('a denied partition', () => {
  it('is denied without a round trip, and without a command of Redis', async () => {
    const limiter = createLimiter({
      store: cacheDenials(own.store()),
      policies: [slidingWindow({ name: 'rpm', limit: 2, window: '1h', per: ['tenant'] })],
    })
    await exhaust(limiter)
    const { total } = await own.meter.measure(async () => {
      for (let time = 0; time < 100; time += 1) {
        expect(await limiter.check(ACME)).toMatchObject({ allowed: false, source: 'cache' })
      }
    })
    expect(total).toBe(0)
  })

  it('is denied just before its retry time, and asked for at it', async () => {
    const { limiter, clock, calls } = setUpCache([rpm])
    const { retryAfterMs } = await exhaust(limiter)
    clock.advance((retryAfterMs ?? 0) - 1)
    expect(await calls(() => limiter.check(ACME))).toBe(0)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.advance(1)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, source: 'memory' })
  })

  it('says when a cost as high as the limit fits', async () => {
    const { limiter, clock } = setUpCache([rpm])
    await limiter.check(ACME)
    clock.advance(500)
    const whole = { cost: { request: 2 } }
    expect(await limiter.check(ACME, whole)).toMatchObject({ allowed: false, retryAfterMs: 2_500 })
    const again = await limiter.check(ACME, whole)
    expect(again).toMatchObject({ allowed: false, retryAfterMs: 2_500, source: 'cache' })
  })

  it('has the times of the moment, by the clock of the store', async () => {
    const { limiter, clock } = setUpCache([rpm])
    const denial = await exhaust(limiter)
    clock.advance(700)
    const later = await limiter.check(ACME)
    expect(later.source).toBe('cache')
    expect(later.at).toBe(denial.at + 700)
    expect(later.retryAfterMs).toBe((denial.retryAfterMs ?? 0) - 700)
    expect(later.policies[0]?.resetMs).toBe((denial.policies[0]?.resetMs ?? 0) - 700)
    expect(later).toMatchObject({ reason: 'rate_limit_exceeded', violated: { name: 'rpm' } })
  })

  it('is decided at a time that has come, however long the reply was under way', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: NOON })
    onTestFinished(() => void vi.useRealTimers())
    const counts = memory()
    const far: Store = {
      ...counts,
      async check(request) {
        pass(100)
        const reply = await counts.check({ ...request, now: Date.now() })
        pass(100)
        return reply
      },
    }
    const limiter = createLimiter({ store: cacheDenials(far), policies: [rpm] })
    const denial = await exhaust(limiter)
    const cached = await limiter.check(ACME)
    expect(cached).toMatchObject({ source: 'cache', at: denial.at })
    pass(50)
    expect((await limiter.check(ACME)).at).toBe(denial.at + 50)
  })

  it('leaves all others alone', async () => {
    const { limiter } = setUpCache([rpm])
    await exhaust(limiter)
    expect(await limiter.check({ tenant: 'other' })).toMatchObject({ allowed: true })
  })

  it('is asked for after maxAgeMs, 5 seconds unless set', async () => {
    for (const maxAgeMs of [undefined, 60_000]) {
      const { limiter, clock, calls } = setUpCache([tokens], maxAgeMs ? { maxAgeMs } : {})
      await exhaust(limiter, ACME, { token: 10 })
      clock.advance((maxAgeMs ?? 5_000) - 1)
      expect(await calls(() => limiter.check(ACME, token(10)))).toBe(0)
      clock.advance(1)
      expect(await calls(() => limiter.check(ACME, token(10)))).toBe(1)
      expect(await calls(() => limiter.check(ACME, token(10)))).toBe(0)
    }
  })

  it('is asked for if the clock was set back', async () => {
    const { limiter, clock, calls } = setUpCache([rpm])
    await exhaust(limiter)
    clock.advance(-1)
    expect(await calls(() => limiter.check(ACME))).toBe(1)
  })

  it('is asked for by a peek', async () => {
    const { limiter, calls } = setUpCache([rpm])
    await exhaust(limiter)
    expect(await calls(() => limiter.peek(ACME))).toBe(1)
    expect(await calls(() => limiter.check(ACME))).toBe(0)
  })

  it('is asked for by a request that reads a record, as for a configuration 5 seconds old', async () => {
    const extensions = [runtimeConfiguration({ allow: { tpm: ['limit'] } })]
    const { limiter, clock, calls } = setUpCache([tokens], { maxAgeMs: 60_000 }, { extensions })
    await exhaust(limiter, ACME, { token: 10 })
    clock.advance(5_000)
    expect(await calls(() => limiter.check(ACME, token(10)))).toBe(1)
    expect(await calls(() => limiter.check(ACME, token(10)))).toBe(0)
  })
})

describe('the cost', () => {
  it('that was denied says nothing about a smaller one, and denies a larger one', async () => {
    const { limiter, calls } = setUpCache([tokens])
    await limiter.check(ACME, token(5))
    await exhaust(limiter, ACME, { token: 6 })
    expect(await calls(() => limiter.check(ACME, token(6)))).toBe(0)
    expect(await calls(() => limiter.check(ACME, token(9)))).toBe(0)
    expect(await limiter.check(ACME, token(1))).toMatchObject({ allowed: true })
    expect(await limiter.check(ACME, token(6))).toMatchObject({ allowed: false, source: 'cache' })
    expect(await limiter.check(ACME, token(0))).toMatchObject({ allowed: true })
  })

  it('above the limit is told to fit never', async () => {
    const { limiter } = setUpCache([tokens])
    await exhaust(limiter, ACME, { token: 9 })
    expect(await limiter.check(ACME, token(11))).toMatchObject({
      source: 'cache',
      reason: 'cost_exceeds_limit',
      retryAfterMs: null,
    })
  })

  it('of a reservation counts: a floor that was denied is denied', async () => {
    const { limiter, calls } = setUpCache([tokens])
    await limiter.check(ACME, token(7))
    const fit = fitRange({ floor: 5, most: 9, rates: { token: 1_000_000 } })
    expect(await reserve(limiter, ACME, { fit })).toMatchObject({ allowed: false })
    expect(await calls(() => reserve(limiter, ACME, { fit }))).toBe(0)
    const smaller = fitRange({ floor: 2, most: 9, rates: { token: 1_000_000 } })
    expect(await reserve(limiter, ACME, { fit: smaller })).toMatchObject({ granted: 3 })
  })
})

describe('of several policies', () => {
  const daily = fixedWindow({ name: 'daily', limit: 3, window: '1d', per: ['tenant'] })
  const perRoute = fixedWindow({
    name: 'route',
    limit: 2,
    window: '1h',
    per: ['tenant', 'route'],
  })

  it('one that denies says nothing about another', async () => {
    const { limiter } = setUpCache([daily, perRoute])
    await exhaust(limiter, { ...ACME, route: 'a' })
    expect(await limiter.check({ ...ACME, route: 'b' })).toMatchObject({ allowed: true })
    expect(await limiter.check({ ...ACME, route: 'a' })).toMatchObject({ source: 'cache' })
  })

  it('each is told as the store last told it', async () => {
    const { limiter } = setUpCache([daily, perRoute])
    const denial = await exhaust(limiter, { ...ACME, route: 'a' })
    const cached = await limiter.check({ ...ACME, route: 'a' })
    expect(cached).toEqual({ ...denial, source: 'cache' })
  })

  it('a partition that the denied request did not have is asked for once', async () => {
    const { limiter, calls } = setUpCache([daily, perRoute])
    await limiter.check({ ...ACME, route: 'a' })
    await exhaust(limiter, { ...ACME, route: 'b' })
    await exhaust(limiter, { ...ACME, route: 'b' })
    await exhaust(limiter, { ...ACME, route: 'c' })
    await exhaust(limiter, { ...ACME, route: 'c' })
    expect(await calls(() => limiter.check({ ...ACME, route: 'd' }))).toBe(1)
    expect(await calls(() => limiter.check({ ...ACME, route: 'd' }))).toBe(0)
  })

  it('windows over one log are known apart', async () => {
    const log = slidingWindows({
      name: 'log',
      per: ['tenant'],
      windows: { short: { limit: 1, window: '1s' }, long: { limit: 5, window: '1h' } },
    })
    const { limiter, clock } = setUpCache([log])
    await exhaust(limiter)
    const cached = await limiter.check(ACME)
    expect(cached).toMatchObject({ source: 'cache', violated: { name: 'log.short' } })
    expect(cached.policies.map(({ fits }) => fits)).toEqual([false, true])
    clock.advance(1_000)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
    await limiter.check(ACME)
    await limiter.reset(ACME)
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true })
  })

  it('a shadow denies nothing', async () => {
    const once = { name: 'shadow', limit: 1, window: '1h' } as const
    const shadow = fixedWindow({ ...once, per: ['tenant'], mode: 'shadow' })
    const { limiter, calls } = setUpCache([shadow])
    await limiter.check(ACME)
    expect(await calls(() => limiter.check(ACME))).toBe(1)
    expect(await calls(() => limiter.check(ACME))).toBe(1)
  })

  it('one that counts calls in flight is always asked for', async () => {
    const inFlight = concurrency({ name: 'calls', limit: 1, maxDuration: '1m', per: ['tenant'] })
    const { limiter, calls } = setUpCache([inFlight])
    const call = await reserve(limiter, ACME)
    expect(await calls(() => reserve(limiter, ACME))).toBe(1)
    expect(await calls(() => reserve(limiter, ACME))).toBe(1)
    if (call.allowed) await call.cancel()
    expect(await reserve(limiter, ACME)).toMatchObject({ allowed: true })
  })
})

it('works below leases: what they ask for and is denied costs no call', async () => {
  const everyone = fixedWindow({ name: 'everyone', limit: 100, window: '1h', per: 'global' })
  const store = new Watched(memory())
  const policies = [lease(everyone), tokens]
  const { limiter } = setUp(policies, { store: leased(cacheDenials(store)) })
  await exhaust(limiter, ACME, { token: 5 })
  const { decisions } = await callsOf(store, async () => {
    for (let time = 0; time < 10; time += 1) await limiter.check(ACME, token(5))
  })
  expect(decisions).toBe(0)
})

const make = loosely((options) => cacheDenials(memory(), options))

mistakesAreNamed([
  ['an age of 0', () => make({ maxAgeMs: 0 }), 'cacheDenials.maxAgeMs'],
  ['half a partition', () => make({ maxPartitions: 1.5 }), 'cacheDenials.maxPartitions'],
  ['an unknown option', () => make({ ttl: 1 }), 'cacheDenials.ttl', 'unknown_option'],
  ['no store', () => loosely(cacheDenials)(undefined), 'cacheDenials.store'],
])
