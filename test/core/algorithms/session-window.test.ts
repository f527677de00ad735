import { sessionWindow } from '@sluice/core'
import { rateLimitHeaders } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { algorithmConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { MINUTE } from '../../support/times.ts'

const redis = sharedRedis()
const IDLE = 30 * MINUTE
const RUN = { run: 'r1' }

algorithmConformance({
  describe,
  it,
  makePolicy: (options) => sessionWindow({ ...options, idle: '1m' }),
  makeStores: { memory: () => memory(), redis: () => redis.store() },
  histories: 40,
})

describe.each([
  ['memory', () => memory()],
  ['Redis', () => redis.store()],
] as const)('a session window of 10 in %s', (_, make) => {
  function runs() {
    const policy = sessionWindow({ name: 'run', limit: 10, per: ['run'], idle: '30m' })
    const { limiter, clock } = setUp([policy], { store: make() })
    const left = async () => (await limiter.peek(RUN, { cost: 0 })).policies[0]?.remaining
    const endsInMs = async () => (await limiter.peek(RUN, { cost: 0 })).policies[0]?.resetMs
    async function take(cost: number) {
      const call = await reserve(limiter, RUN, { cost })
      if (!call.allowed) throw new Error('The reservation was denied')
      return call
    }
    return { limiter, clock, left, endsInMs, take }
  }

  it('counts a run of days together, as long as its pauses are shorter than the idle time', async () => {
    const { limiter, clock } = runs()
    for (let time = 0; time < 10; time += 1) {
      clock.advance(IDLE - 1)
      expect((await limiter.check(RUN)).allowed).toBe(true)
    }
    expect(await limiter.check(RUN)).toMatchObject({
      allowed: false,
      reason: 'rate_limit_exceeded',
      retryAfterMs: IDLE,
      violated: { name: 'run', scope: 'run', windowMs: IDLE, remaining: 0 },
    })
  })

  it('begins anew once nothing was charged for the idle time, and not a millisecond earlier', async () => {
    const { limiter, clock, left } = runs()
    await spend(limiter, 4, RUN)
    clock.advance(IDLE - 1)
    expect(await left()).toBe(6)
    clock.advance(1)
    expect(await left()).toBe(10)
  })

  it('is not prolonged by denials, peeks and costs of 0: a client that goes on asking gets through', async () => {
    const { limiter, clock } = runs()
    await spend(limiter, 10, RUN)
    for (let minute = 1; minute < 30; minute += 1) {
      clock.advance(MINUTE)
      await limiter.peek(RUN)
      expect((await limiter.check(RUN, { cost: 0 })).allowed).toBe(true)
      const { allowed, retryAfterMs } = await limiter.check(RUN)
      expect([allowed, retryAfterMs]).toEqual([false, IDLE - minute * MINUTE])
    }
    clock.advance(MINUTE)
    expect((await limiter.check(RUN)).allowed).toBe(true)
  })

  it('reports as its reset the end that the charge leads to', async () => {
    const { limiter, clock, endsInMs } = runs()
    await spend(limiter, 1, RUN)
    clock.advance(MINUTE)
    expect(await endsInMs()).toBe(IDLE - MINUTE)
    expect((await limiter.peek(RUN)).policies[0]?.resetMs).toBe(IDLE)
    expect(rateLimitHeaders(await limiter.check(RUN))).toMatchObject({
      'X-RateLimit-Reset': String((clock() + IDLE) / 1_000),
      'RateLimit-Policy': '"run";q=10;w=1800',
      RateLimit: '"run";r=8;t=1800',
    })
  })

  it('counts each run by itself', async () => {
    const { limiter, left } = runs()
    await spend(limiter, 10, { run: 'other' })
    expect(await left()).toBe(10)
  })

  it('gets unused units back, and its end does not move', async () => {
    const { clock, left, endsInMs, take } = runs()
    const call = await take(8)
    clock.advance(20 * MINUTE)
    expect(await call.settle(3)).toMatchObject({ applied: true, returned: { request: 5 } })
    expect([await left(), await endsInMs()]).toEqual([7, 10 * MINUTE])
  })

  it('is prolonged by what a call used beyond its estimate', async () => {
    const { clock, left, endsInMs, take } = runs()
    const call = await take(2)
    clock.advance(20 * MINUTE)
    expect(await call.settle(5)).toMatchObject({ applied: true, overrun: { request: 3 } })
    expect([await left(), await endsInMs()]).toEqual([5, IDLE])
  })

  it('gets nothing back for a call of an earlier session', async () => {
    const { clock, left, take } = runs()
    const call = await take(8)
    clock.advance(IDLE)
    await take(6)
    expect(await call.settle(1)).toEqual({ applied: true, returned: {}, overrun: {} })
    expect(await left()).toBe(4)
  })

  it('is charged for what a call of an earlier session used beyond its estimate', async () => {
    const { clock, left, endsInMs, take } = runs()
    const call = await take(2)
    clock.advance(IDLE + MINUTE)
    expect(await call.settle(5)).toMatchObject({ applied: true, overrun: { request: 3 } })
    expect([await left(), await endsInMs()]).toEqual([7, IDLE])
  })

  it('gets nothing back for a call before a reset', async () => {
    const { limiter, clock, left, take } = runs()
    const call = await take(8)
    await limiter.reset(RUN)
    clock.advance(1)
    await take(6)
    await call.cancel()
    expect(await left()).toBe(4)
  })

  it('is found again by a clock that steps back, even to before its start', async () => {
    const { limiter, clock, left, endsInMs } = runs()
    await spend(limiter, 3, RUN)
    clock.advance(-2 * IDLE)
    expect([await left(), await endsInMs()]).toEqual([7, 3 * IDLE])
    await spend(limiter, 1, RUN)
    clock.advance(3 * IDLE - 1)
    expect(await left()).toBe(6)
  })
})
