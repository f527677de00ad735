import { dailyCap, fixedWindow, monthlyCap, type PolicyOptions } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { algorithmConformance } from '@sluice/core/testing'
import { describe, expect, it } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { dailyBy } from './support.ts'

const redis = sharedRedis()
const STORES = { memory: () => memory(), redis: () => redis.store() }

/** A policy of each period, by another zone. */
const CALENDARS = {
  day: (options: PolicyOptions<['tenant']>) =>
    dailyCap({ ...options, resets: calendar({ zone: 'Asia/Kathmandu', on: { hour: 6 } }) }),
  week: (options: PolicyOptions<['tenant']>) =>
    fixedWindow({
      ...options,
      resets: calendar({ every: 'week', zone: 'America/New_York', on: { weekday: 'friday' } }),
    }),
  month: (options: PolicyOptions<['tenant']>) =>
    monthlyCap({
      ...options,
      resets: calendar({ zone: () => 'Pacific/Apia', anchor: '2026-01-31' }),
    }),
  year: (options: PolicyOptions<['tenant']>) =>
    fixedWindow({ ...options, resets: calendar({ every: 'year', on: { month: 2, day: 29 } }) }),
}

describe.each(Object.entries(CALENDARS))('a %s', (_, makePolicy) => {
  algorithmConformance({
    describe,
    it,
    makePolicy: (options) => makePolicy(options as PolicyOptions<['tenant']>),
    makeStores: STORES,
    histories: 15,
  })
})

const utcDay = (limit: number) => dailyCap({ name: 'daily', limit, per: ['tenant'] })

describe.each(Object.entries(STORES))('a calendar in %s', (_, make) => {
  function limiterAt(time: string, ...policies: Parameters<typeof setUp>[0][number][]) {
    const set = setUp(policies, { store: make() })
    set.clock.set(Date.parse(time))
    return set
  }

  it('ends a day at the midnight of its zone, and says when as local time', async () => {
    const { limiter, clock } = limiterAt('2026-03-28T22:59Z', dailyBy(2, { zone: 'Europe/Berlin' }))
    await spend(limiter, 2)
    expect(await limiter.check(ACME)).toMatchObject({
      reason: 'daily_quota_exceeded',
      retryAfterMs: 60_000,
      violated: { resetMs: 60_000, resetsAt: '2026-03-29T00:00:00+01:00[Europe/Berlin]' },
    })
    clock.advance(60_000)
    const { policies } = await limiter.check(ACME)
    // Clocks are set forward that night.
    expect(policies[0]).toMatchObject({ remaining: 1, resetMs: 23 * HOUR })
    expect(policies[0]?.resetsAt).toBe('2026-03-30T00:00:00+02:00[Europe/Berlin]')
  })

  it('goes on with the count and the end of a UTC day that runs', async () => {
    const store = make()
    const before = setUp([utcDay(5)], { store })
    before.clock.set(Date.parse('2026-05-01T20:00Z'))
    await spend(before.limiter, 3)
    const { limiter, clock } = setUp([dailyBy(5, { zone: 'America/New_York' })], { store })
    clock.set(Date.parse('2026-05-01T21:00Z'))
    const { policies } = await limiter.check(ACME)
    expect(policies[0]).toMatchObject({ remaining: 1, resetMs: 3 * HOUR })
    clock.advance(3 * HOUR)
    // New York's midnight is in four hours, which would be a second budget: the period runs on to the next.
    expect((await limiter.check(ACME)).policies[0]).toMatchObject({
      remaining: 4,
      resetMs: 28 * HOUR,
    })
  })

  it.each(['Europe/Berlin', 'America/New_York'])(
    'goes on with the count and the end in %s where a cap is in UTC again, or still in another process',
    async (zone) => {
      const store = make()
      const calendars = setUp([dailyBy(5, { zone })], { store })
      calendars.clock.set(Date.parse('2026-05-01T20:00Z'))
      await spend(calendars.limiter, 3)
      const { limiter, clock } = setUp([utcDay(5)], { store })
      clock.set(Date.parse('2026-05-01T21:00Z'))
      const { policies } = await limiter.check(ACME)
      expect(policies[0]?.remaining).toBe(1)
      clock.advance(policies[0]?.resetMs ?? 0)
      expect((await limiter.check(ACME)).policies[0]?.remaining).toBe(4)
    },
  )

  it('begins no short day where the zone of a tenant moves at each end of a day', async () => {
    const zones = ['Europe/Berlin', 'Europe/London', 'Atlantic/Azores', 'America/New_York']
    const policy = dailyBy(1, { zone: ({ zone }) => zone })
    const { limiter, clock } = limiterAt('2026-01-01T23:00Z', policy)
    let [days, turn] = [0, 0]
    const end = clock() + 100 * DAY
    while (clock() < end) {
      const subject = { ...ACME, zone: zones[turn % zones.length] }
      const { allowed, policies } = await limiter.check(subject)
      if (allowed) days += 1
      clock.advance(policies[0]?.resetMs ?? 0)
      turn += 1
    }
    expect(days).toBeGreaterThan(50)
    expect(days).toBeLessThanOrEqual(101)
  })

  it('begins no second budget where two processes have other tables of a zone', async () => {
    const store = make()
    // One knows that the zone has moved by an hour, the other does not.
    const [older, newer] = ['Etc/GMT-1', 'Etc/GMT'].map((zone) =>
      setUp([dailyBy(1, { zone })], { store }),
    ) as [ReturnType<typeof setUp>, ReturnType<typeof setUp>]
    let allowed = 0
    for (let hour = 0; hour < 10 * 24; hour += 1) {
      for (const { limiter, clock } of [older, newer]) {
        clock.set(Date.parse('2026-11-01T23:00Z') + hour * HOUR)
        if ((await limiter.check(ACME)).allowed) allowed += 1
      }
    }
    expect(allowed).toBe(10)
  })

  it('takes UTC for a zone that it does not know, and reports it', async () => {
    const { problems, listener } = collectProblems()
    const policy = dailyBy(1, { zone: ({ zone }) => zone })
    const { limiter, clock } = setUp([policy], { store: make(), extensions: [listener] })
    clock.set(Date.parse('2026-05-01T23:00Z'))
    const { policies } = await limiter.check({ ...ACME, zone: 'Mars/Olympus_Mons' })
    expect(policies[0]).toMatchObject({ resetMs: HOUR, resetsAt: '2026-05-02T00:00:00+00:00[UTC]' })
    expect(problems).toMatchObject([{ code: 'calendar_unknown', source: 'subject' }])
    expect(problems[0]?.message).toMatch(/policies\.daily: "Mars\/Olympus_Mons" is no time zone/)
  })
})
