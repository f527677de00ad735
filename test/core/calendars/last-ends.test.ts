import { dailyCap, manualClock } from '@sluice/core'
import { calendar, calendarAlgorithm } from '@sluice/core/calendars'
import { expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { mustReserve } from '../reservations/support.ts'
import { storesOfAll } from './support.ts'

const redis = sharedRedis()
const STROKE = Date.parse('2026-06-01T22:00Z')

const zones = {
  fixed: () => calendar({ zone: 'Europe/Berlin' }),
  'of the subject': () => calendar({ zone: () => 'Europe/Berlin' }),
}
const policyIn = (resets: ReturnType<typeof calendar>) =>
  dailyCap({ name: 'daily', limit: 10, per: ['tenant'], resets })

it.each([
  ['fixed', DAY / 10],
  ['of the subject', DAY],
] as const)(
  'a key of a zone that is %s lives for %d ms after its day, whatever has written it',
  async (zone, outliveMs) => {
    const prefix = freshPrefix()
    const { limiter, clock } = setUp([policyIn(zones[zone]())], { store: redis.store(prefix) })
    clock.set(STROKE - HOUR)
    const livesFor = async () => {
      const keys = await redis.redis.keys(`${prefix}*`)
      const key = keys.find((one) => one.includes(':daily:')) ?? ''
      return (await redis.redis.pttl(key)) - (STROKE - clock()) - outliveMs
    }
    const written = []
    const call = await mustReserve(limiter, ACME, { cost: 2 })
    written.push(await livesFor())
    const second = await mustReserve(limiter, ACME, { cost: 2 })
    await call.settle({ request: 4 })
    written.push(await livesFor())
    await second.settle({ request: 1 })
    written.push(await livesFor())
    // By the clock of a test, which may be another one than that of Redis, keys live for a day longer.
    for (const more of written) {
      expect(more).toBeGreaterThan(DAY - 5_000)
      expect(more).toBeLessThanOrEqual(DAY)
    }
  },
)

it.each(Object.entries(storesOfAll()))(
  'a settlement beyond the estimate keeps the last end, in %s',
  async (_, make) => {
    const store = make()
    const clock = manualClock(STROKE - HOUR)
    const { limiter } = setUp([policyIn(zones['fixed']())], { store, clock })
    const call = await mustReserve(limiter, ACME, { cost: 2 })
    await call.settle({ request: 3 })
    clock.set(STROKE)
    // In London the day ends in an hour, and the next one is the first after that of Berlin.
    const moved = setUp([policyIn(calendar({ zone: 'Europe/London' }))], { store, clock })
    const { policies } = await moved.limiter.check(ACME)
    expect(policies[0]).toMatchObject({ remaining: 9, resetMs: 25 * HOUR })
  },
)

it('a lease at the stroke lasts for the day that begins', () => {
  const { windowEnd } = calendarAlgorithm.traits ?? {}
  const entry = { since: STROKE, finish: STROKE + DAY, following: STROKE + 2 * DAY }
  const endAt = (now: number) => (windowEnd?.([DAY], now, entry) ?? NaN) - STROKE
  expect([STROKE - 1, STROKE, STROKE + DAY - 1, STROKE + DAY].map(endAt)).toEqual([
    0,
    DAY,
    DAY,
    2 * DAY,
  ])
})
