import {
  createLimiter,
  dailyCap,
  fixedWindow,
  monthlyCap,
  StoreError,
  type PolicyOptions,
  type StoreRequest,
} from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { calendar, type CalendarOptions } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { algorithmConformance } from '@sluice/core/testing'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { DAY, HOUR } from '../../support/times.ts'

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

const daily = (limit: number, options: CalendarOptions) =>
  dailyCap({ name: 'daily', limit, per: ['tenant'], resets: calendar(options) })
const utcDay = (limit: number) => dailyCap({ name: 'daily', limit, per: ['tenant'] })

describe.each(Object.entries(STORES))('a calendar in %s', (_, make) => {
  function limiterAt(time: string, ...policies: Parameters<typeof setUp>[0][number][]) {
    const set = setUp(policies, { store: make() })
    set.clock.set(Date.parse(time))
    return set
  }

  it('ends a day at the midnight of its zone, and says when as local time', async () => {
    const { limiter, clock } = limiterAt('2026-03-28T22:59Z', daily(2, { zone: 'Europe/Berlin' }))
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
    const { limiter, clock } = setUp([daily(5, { zone: 'America/New_York' })], { store })
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
      const calendars = setUp([daily(5, { zone })], { store })
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
    const policy = daily(1, { zone: ({ zone }) => zone })
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
      setUp([daily(1, { zone })], { store }),
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
    const policy = daily(1, { zone: ({ zone }) => zone })
    const { limiter, clock } = setUp([policy], { store: make(), extensions: [listener] })
    clock.set(Date.parse('2026-05-01T23:00Z'))
    const { policies } = await limiter.check({ ...ACME, zone: 'Mars/Olympus_Mons' })
    expect(policies[0]).toMatchObject({ resetMs: HOUR, resetsAt: '2026-05-02T00:00:00+00:00[UTC]' })
    expect(problems).toMatchObject([{ code: 'calendar_unknown', source: 'subject' }])
    expect(problems[0]?.message).toMatch(/policies\.daily: "Mars\/Olympus_Mons" is no time zone/)
  })
})

describe('a process whose clock is wrong', () => {
  afterEach(() => vi.useRealTimers())

  const zone = 'Asia/Tokyo'
  const ofRedis = () =>
    createLimiter({ store: redis.store(prefix), policies: [daily(3, { zone })] })
  let prefix = freshPrefix()

  it.each([-40 * DAY, -3 * DAY, -DAY, DAY, 1.05 * DAY, 2 * DAY, 3 * DAY, 400 * DAY])(
    'by %d ms computes the day of the store, after one more question',
    async (wrongMs) => {
      prefix = freshPrefix()
      const right = await ofRedis().check(ACME)
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + wrongMs })
      const { problems, listener } = collectProblems()
      const policies = [daily(3, { zone })]
      const limiter = createLimiter({ store: redis.store(), policies, extensions: [listener] })
      const wrong = await limiter.check(ACME)
      expect(wrong.allowed).toBe(true)
      expect(wrong.policies[0]?.resetsAt).toBe(right.policies[0]?.resetsAt)
      expect(problems).toEqual([])
      expect((await ofRedis().check(ACME)).policies[0]?.remaining).toBe(1)
    },
  )
})

it('decides in memory by its own clock when Redis fails, whatever it has learned of the time of Redis', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * DAY })
  const { problems, listener } = collectProblems()
  const within = redis.store()
  let isDown = false
  const store = {
    ...within,
    check: (request: StoreRequest) =>
      isDown ? Promise.reject(new StoreError('store_timeout', 'down')) : within.check(request),
  }
  const policies = [daily(60, { zone: 'Asia/Tokyo' })]
  const limiter = createLimiter({ store, policies, extensions: [listener] })
  expect(await limiter.check(ACME)).toMatchObject({ allowed: true, source: 'store' })
  isDown = true
  const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.check(ACME)))
  expect(decisions.filter(({ allowed, degraded }) => allowed && degraded)).toHaveLength(50)
  isDown = false
  expect(await limiter.check(ACME)).toMatchObject({ allowed: true, source: 'store' })
  expect(problems.map(({ code }) => code)).not.toContain('calendar_unknown')
  vi.useRealTimers()
})

it('says the same end in a denial that is remembered as in that of the store', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-05-01T12:00Z') })
  onTestFinished(() => void vi.useRealTimers())
  const within = redis.store()
  const slow = {
    ...within,
    async check(request: StoreRequest) {
      const reply = await within.check(request)
      vi.setSystemTime(Date.now() + 9)
      return reply
    },
  }
  const store = cacheDenials(slow)
  const limiter = createLimiter({ store, policies: [daily(0, { zone: 'Europe/Berlin' })] })
  const first = await limiter.check(ACME, { cost: 1 })
  vi.setSystemTime(Date.now() + 7)
  const second = await limiter.check(ACME, { cost: 1 })
  expect([first.source, second.source]).toEqual(['store', 'cache'])
  expect(second.violated?.resetsAt).toBe(first.violated?.resetsAt)
})

describe('zones by the thousand', () => {
  it('are looked up once, known or not, and however long', async () => {
    const { limiter } = setUp([daily(1, { zone: ({ zone }) => zone })], {
      extensions: [collectProblems().listener],
    })
    const made = vi.spyOn(Intl, 'DateTimeFormat')
    onTestFinished(() => made.mockRestore())
    const spellings = [
      'Europe/Berlin',
      'europe/berlin',
      'EUROPE/BERLIN',
      'Mars/Base',
      'x'.repeat(1e6),
    ]
    for (let round = 0; round < 3; round += 1) {
      for (const zone of spellings) await limiter.peek({ tenant: 'acme', zone })
    }
    // One for all spellings of Berlin, one for UTC, and one that fails.
    expect(made.mock.calls.length).toBeLessThanOrEqual(3)
  })
})

describe('options of a calendar', () => {
  const cases: readonly (readonly [() => unknown, RegExp])[] = [
    [
      () => daily(1, { zone: 'Europe/Berln' }),
      /calendar\.zone: must be a time zone .* \(given: "Europe\/Berln"\)/,
    ],
    [
      () => daily(1, { on: { day: 3 } }),
      /dailyCap\.resets\.on\.day: unknown option; expected "hour"/,
    ],
    [() => daily(1, { on: { hour: 24 } }), /resets\.on\.hour: must be a whole number from 0 to 23/],
    [() => daily(1, { every: 'week' }), /dailyCap\.resets\.every: must be left out/],
    [() => daily(1, { anchor: '2026-02-30' }), /calendar\.anchor: must be a date/],
    [() => daily(1, { anchor: 1_769_839_200 }), /calendar\.anchor: must be a date .* not seconds/],
    [
      () => daily(1, { anchor: '2026-02-03', on: {} }),
      /calendar\.anchor: must be left out with "on"/,
    ],
    [() => daily(1, { zones: 'UTC' } as never), /calendar\.zones: unknown option/],
    [
      () => fixedWindow({ name: 'w', limit: 1, per: 'global', resets: calendar({}) }),
      /fixedWindow\.resets\.every: must be one of "day", "week", "month", "year"/,
    ],
    [
      () =>
        fixedWindow({
          name: 'w',
          limit: 1,
          per: 'global',
          window: '1d',
          resets: calendar({ every: 'day' }),
        } as never),
      /fixedWindow\.window: must be left out with "resets"/,
    ],
    [
      () => monthlyCap({ name: 'm', limit: 1, per: 'global', resets: { zone: 'UTC' } as never }),
      /monthlyCap\.resets: must be created by calendar/,
    ],
  ]

  it.each(cases)('%o', (make, message) => {
    expect(make).toThrow(message)
  })
})
