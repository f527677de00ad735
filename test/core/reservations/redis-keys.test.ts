import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { keysUnder, snapshot } from '../../support/redis.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { COST, mustReserve, POLICIES } from './support.ts'

const own = ownRedisOverHttp()

const setUp = () => own.setUp(POLICIES)

describe('a reservation in Redis', () => {
  it('is one HTTP request to make and one to settle', async () => {
    const { limiter } = setUp()
    const warm = await mustReserve(limiter, { tenant: 'warm' }, { cost: COST })
    await warm.settle({ token: 1 })
    const before = own.local.requests
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    expect(own.local.requests - before).toBe(1)
    await decision.settle({ token: 10 })
    expect(own.local.requests - before).toBe(2)
  })

  it('leaves an expiry on every key, its mark for a minute once it is settled, and nothing of a call', async () => {
    const { limiter, prefix } = setUp()
    const expiries = async (): Promise<Map<string, number>> => {
      const keys = await keysUnder(own.redis, prefix)
      const pairs = keys.map(
        async (key) => [key.slice(prefix.length + 1), await own.redis.pttl(key)] as const,
      )
      return new Map(await Promise.all(pairs))
    }
    const decision = await mustReserve(limiter, ACME, { cost: COST, settleWithin: '10m' })
    const unsettled = await expiries()
    const marks = [...unsettled].filter(([key]) => key.startsWith('hold:'))
    expect(marks).toHaveLength(1)
    expect(marks[0]?.[1]).toBeGreaterThan(0)
    expect(marks[0]?.[1]).toBeLessThanOrEqual(600_000)
    expect(unsettled.size).toBe(8)
    expect(Math.min(...unsettled.values())).toBeGreaterThan(0)
    await decision.settle({ token: 7 })
    const settled = await expiries()
    expect([...settled.keys()].toSorted()).toEqual(
      [...unsettled.keys()].filter((key) => !key.startsWith('calls:')).toSorted(),
    )
    expect(settled.get(marks[0]?.[0] ?? '')).toBeLessThanOrEqual(60_000)
    expect(Math.min(...settled.values())).toBeGreaterThan(0)
  })

  it('that is denied changes no byte and leaves no mark', async () => {
    const { limiter, prefix } = setUp()
    await reserve(limiter, ACME, { cost: { token: 90 } })
    const before = await snapshot(own.redis, prefix)
    expect(await reserve(limiter, ACME, { cost: COST })).toMatchObject({ allowed: false })
    expect(await snapshot(own.redis, prefix)).toEqual(before)
  })

  it('that is settled after its mark has gone changes no byte', async () => {
    const { limiter, prefix } = setUp()
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    const keys = await keysUnder(own.redis, prefix)
    await own.redis.del(keys.find((key) => key.includes(':hold:')) ?? '')
    const before = await snapshot(own.redis, prefix)
    const done = await decision.settle({ token: 1 })
    expect(done).toEqual({ applied: false, why: 'settled_before', returned: {}, overrun: {} })
    expect(await snapshot(own.redis, prefix)).toEqual(before)
  })

  it('that is cancelled early leaves a window that outlives its other entries', async () => {
    const { limiter, prefix } = setUp()
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    await limiter.check(ACME, { cost: COST })
    const keys = await keysUnder(own.redis, prefix)
    const key = keys.find((name) => name.includes(':window:')) ?? ''
    // As if it had been charged two and a half windows ago.
    await own.redis.pexpire(key, 30_000)
    await decision.cancel()
    expect(await own.redis.pttl(key)).toBeGreaterThan(60_000)
  })

  it('is corrected in its other keys when one of them holds something else', async () => {
    const { limiter, prefix } = setUp()
    const decision = await mustReserve(limiter, ACME, { cost: COST })
    const keys = await keysUnder(own.redis, prefix)
    await own.redis.set(keys.find((name) => name.includes(':window:')) ?? '', 'something else')
    await expect(decision.settle({ token: 1 })).rejects.toMatchObject({ code: 'store_refused' })
    const ends = keys.find((name) => name.includes(':daily:')) ?? ''
    expect(await own.redis.get(ends)).toMatch(/:1$/)
    expect(await own.redis.exists(keys.find((name) => name.includes(':calls:')) ?? '')).toBe(0)
  })
})
