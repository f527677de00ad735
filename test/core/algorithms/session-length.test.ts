import { sessionWindow, type Limiter, type Policy } from '@sluice/core'
import { rateLimitHeaders } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reservation, type Reservation, type ReservationData } from '@sluice/core/reservations'
import { algorithmConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'
import { remaining, spend } from '../../support/decisions.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { storesOf } from '../../support/stores.ts'
import { DAY, HOUR, MINUTE, NOON } from '../../support/times.ts'
import { mustReserve } from '../reservations/support.ts'

const redis = sharedRedis()
const LENGTH = 5 * HOUR
const IDLE = 30 * MINUTE

describe.each([{ length: '1m' }, { length: '1m', idle: '25s' }] as const)(
  'a session of %o',
  (options) => {
    algorithmConformance({
      describe,
      it,
      makePolicy: (tested) => sessionWindow({ ...tested, ...options }),
      makeStores: { memory: () => memory(), redis: () => redis.store() },
      histories: 40,
    })
  },
)

// @ts-expect-error -- needs `length` or `idle`
const endless = () => sessionWindow({ name: 'p', limit: 10, per: ['tenant'] })

it('has an end: it does not compile without one, and throws', () => {
  expect(endless).toThrow(
    'sessionWindow.length: must be a duration such as "5h", unless idle is one',
  )
})

const common = { name: 'p', per: ['tenant'] } as const
const fiveHours = sessionWindow({ ...common, limit: 10, length: '5h' })
const withPauses = sessionWindow({ ...common, limit: 10, length: '5h', idle: '30m' })

describe.each([
  'memory',
  'file',
  'redis, built-in transport',
  'durable objects, in this process',
] as const)('in %s', (name) => {
  const make = storesOf(name)

  function sessions(policy: Policy = fiveHours) {
    const store = make()
    const { limiter, clock } = setUp([policy], { store })
    const state = async (of: Limiter = limiter) => {
      const { policies } = await of.peek(ACME, { cost: 0 })
      return [policies[0]?.remaining, policies[0]?.resetMs]
    }
    /** Settles in another process, which has the data of the reservation alone. */
    async function settleElsewhere(call: Reservation, used: number) {
      const data = JSON.parse(JSON.stringify(call)) as ReservationData
      return reservation(setUp([policy], { store, clock }).limiter, data).settle(used)
    }
    const take = (cost: number) => mustReserve(limiter, ACME, { cost, settleWithin: '30d' })
    return { limiter, clock, state, take, settleElsewhere }
  }

  describe('a session of 5 hours', () => {
    it('ends 5 hours after its first charge, to the millisecond, however often it is charged', async () => {
      const { limiter, clock } = sessions()
      for (let hour = 0; hour < 5; hour += 1) {
        const { policies } = await limiter.check(ACME, { cost: 2 })
        expect(policies[0]).toMatchObject({ resetMs: LENGTH - hour * HOUR, windowMs: LENGTH })
        clock.advance(HOUR)
      }
      clock.advance(-1)
      expect(await limiter.check(ACME)).toMatchObject({
        allowed: false,
        reason: 'rate_limit_exceeded',
        retryAfterMs: 1,
      })
      clock.advance(1)
      const decision = await limiter.check(ACME)
      expect(remaining(decision)).toEqual({ p: 9 })
      expect(decision.policies[0]?.resetMs).toBe(LENGTH)
    })

    it('is not begun by denials, peeks and costs of 0', async () => {
      const { limiter, clock, state } = sessions()
      await limiter.check(ACME, { cost: 11 })
      await limiter.peek(ACME)
      await limiter.check(ACME, { cost: 0 })
      clock.advance(HOUR)
      expect(await state()).toEqual([10, LENGTH])
      await spend(limiter, 1)
      clock.advance(HOUR)
      expect(await state()).toEqual([9, 4 * HOUR])
    })

    it('reports its length and its end in headers', async () => {
      const { limiter, clock } = sessions()
      await spend(limiter, 1)
      clock.advance(HOUR)
      expect(rateLimitHeaders(await limiter.check(ACME))).toMatchObject({
        'X-RateLimit-Reset': String((NOON + LENGTH) / 1_000),
        'RateLimit-Policy': '"p";q=10;w=18000',
        RateLimit: '"p";r=8;t=14400',
      })
    })

    it.each([
      ['fewer', 3, { returned: { request: 3 } }, 7],
      ['more', 9, { overrun: { request: 3 } }, 1],
    ] as const)(
      'keeps its end when a call has used %s units than reserved',
      async (_, used, moved, left) => {
        const { clock, state, take, settleElsewhere } = sessions()
        const call = await take(6)
        clock.advance(LENGTH - 1)
        expect(await settleElsewhere(call, used)).toMatchObject({ applied: true, ...moved })
        expect(await state()).toEqual([left, 1])
        clock.advance(1)
        expect(await state()).toEqual([10, LENGTH])
      },
    )

    it('gives nothing back for a call of an earlier session, in the next one either', async () => {
      const { limiter, clock, state, take, settleElsewhere } = sessions()
      const [first, second] = [await take(5), await take(5)]
      clock.advance(LENGTH)
      const nothing = { applied: true, returned: {}, overrun: {} }
      expect(await settleElsewhere(first, 1)).toEqual(nothing)
      expect(await state()).toEqual([10, LENGTH])
      await spend(limiter, 4)
      clock.advance(HOUR)
      expect(await settleElsewhere(second, 0)).toEqual(nothing)
      expect(await state()).toEqual([6, 4 * HOUR])
    })

    it('is charged for the overrun of an earlier session, whose end does not move it', async () => {
      const { limiter, clock, state, take, settleElsewhere } = sessions()
      const call = await take(2)
      clock.advance(LENGTH)
      await spend(limiter, 1)
      clock.advance(HOUR)
      expect(await settleElsewhere(call, 5)).toMatchObject({ overrun: { request: 3 } })
      expect(await state()).toEqual([6, 4 * HOUR])
    })

    it('begins with the overrun of an earlier session if nothing else was charged before', async () => {
      const { clock, state, take, settleElsewhere } = sessions()
      const call = await take(2)
      clock.advance(LENGTH + HOUR)
      expect(await settleElsewhere(call, 5)).toMatchObject({ overrun: { request: 3 } })
      clock.advance(HOUR)
      expect(await state()).toEqual([7, 4 * HOUR])
    })

    it('is found again by a clock that steps back, even to before its start, and keeps its end', async () => {
      const { limiter, clock, state } = sessions()
      await spend(limiter, 3)
      clock.advance(-DAY)
      expect(await state()).toEqual([7, DAY + LENGTH])
      await spend(limiter, 1)
      clock.advance(DAY + LENGTH - 1)
      expect(await state()).toEqual([6, 1])
      clock.advance(1)
      expect(await state()).toEqual([10, LENGTH])
    })

    it('lets 10 of 25 in at its end, and 10 more 5 hours later', async () => {
      const { limiter, clock, state } = sessions()
      await spend(limiter, 10)
      for (let time = 0; time < 2; time += 1) {
        clock.advance(LENGTH - 1)
        const early = await Promise.all(Array.from({ length: 25 }, () => limiter.check(ACME)))
        expect(early.filter(({ allowed }) => allowed)).toHaveLength(0)
        clock.advance(1)
        const all = await Promise.all(Array.from({ length: 25 }, () => limiter.check(ACME)))
        expect(all.filter(({ allowed }) => allowed)).toHaveLength(10)
        const waits = all.filter(({ allowed }) => !allowed).map((denied) => denied.retryAfterMs)
        expect(new Set(waits)).toEqual(new Set([LENGTH]))
        expect(await state()).toEqual([0, LENGTH])
      }
    })
  })

  describe('a session of 5 hours, or until 30 minutes without a charge', () => {
    it('ends after a pause', async () => {
      const { limiter, clock, state } = sessions(withPauses)
      await spend(limiter, 2)
      clock.advance(IDLE - 1)
      expect(await state()).toEqual([8, 1])
      await spend(limiter, 1)
      expect(await state()).toEqual([7, IDLE])
      clock.advance(IDLE)
      expect(await state()).toEqual([10, IDLE])
    })

    it('ends after 5 hours without a pause, and reports no later end', async () => {
      const many = sessionWindow({ ...common, limit: 11, length: '5h', idle: '30m' })
      const { limiter, clock, state } = sessions(many)
      const step = 29 * MINUTE
      for (let left = LENGTH; left > 0; left -= step) {
        const { policies } = await limiter.check(ACME)
        expect(policies[0]?.resetMs).toBe(Math.min(IDLE, left))
        if (left > step) clock.advance(step)
      }
      expect(await state()).toEqual([0, LENGTH % step])
      clock.advance(LENGTH % step)
      expect(await state()).toEqual([11, IDLE])
    })

    it('is prolonged by overruns, but not beyond its length', async () => {
      const { clock, state, take, settleElsewhere } = sessions(withPauses)
      const calls = await Promise.all(Array.from({ length: 10 }, () => take(1)))
      for (const call of calls) {
        clock.advance(28 * MINUTE)
        expect(await settleElsewhere(call, 2)).toMatchObject({ overrun: { request: 1 } })
      }
      expect(await state()).toEqual([0, 20 * MINUTE])
      clock.advance(20 * MINUTE)
      expect(await state()).toEqual([10, IDLE])
    })
  })
})
