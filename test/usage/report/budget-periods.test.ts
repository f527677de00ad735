import { dailyCap, fixedWindow, manualClock, monthlyCap, type Policy } from '@sluice/core'
import { calendar, type CalendarOptions, type Every } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { usage, type UsageOptions } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { recording } from '../support.ts'

const redis = sharedRedis()
const STORES = { memory: () => memory(), redis: () => redis.store() }

const LIMIT = 1_000_000_000

type Parts = Pick<UsageOptions, 'zone' | 'on' | 'anchor'>

function budgetOf(every: Every, options: Parts): Policy {
  const facts = { name: 'budget', unit: 'usd', limit: LIMIT, per: ['tenant'] as const }
  const resets = options as CalendarOptions
  if (every === 'day') return dailyCap({ ...facts, resets: calendar(resets) })
  if (every === 'month') return monthlyCap({ ...facts, resets: calendar(resets) })
  return fixedWindow({ ...facts, resets: calendar({ ...resets, every }) })
}

/** Calendars, and the time from one call to the next, from a start on. */
const CALENDARS: readonly (readonly [Every, Parts, string, number])[] = [
  ['day', { zone: 'Europe/Berlin' }, '2026-10-23T20:00Z', 1.75 * HOUR],
  ['day', { zone: 'Asia/Kolkata' }, '2026-01-09T20:00Z', 1.75 * HOUR],
  ['day', { zone: 'Australia/Lord_Howe', on: { hour: 2 } }, '2026-10-02T20:00Z', 1.75 * HOUR],
  ['day', { zone: 'Pacific/Apia' }, '2011-12-28T20:00Z', 1.75 * HOUR],
  [
    'week',
    { zone: 'America/St_Johns', on: { weekday: 'sunday' } },
    '2026-10-25T20:00Z',
    7.25 * HOUR,
  ],
  ['month', { zone: 'Asia/Kathmandu', anchor: '2026-01-31T06' }, '2026-02-20T00:00Z', 23.75 * HOUR],
  ['month', { zone: 'America/New_York' }, '2026-10-20T00:00Z', 23.75 * HOUR],
  [
    'year',
    { zone: 'Pacific/Chatham', anchor: '2024-02-29' },
    '2025-02-01T00:00Z',
    9 * DAY + HOUR / 4,
  ],
]

describe.each(Object.entries(STORES))('the running period of a report in %s', (_, make) => {
  it.each(CALENDARS)('is that of a budget: each %s, %j', async (by, options, start, stepMs) => {
    const clock = manualClock(Date.parse(start))
    const { limiter } = recording([budgetOf(by, options)], {
      store: make(),
      clock,
      usage: { tenants: 'plain', keepHours: '366d', keepDays: '366d' },
    })
    const periods = new Set<string>()
    for (let call = 1; call <= 50; call += 1) {
      await limiter.check(ACME, { cost: { usd: call } })
      const reservation = await reserve(limiter, ACME, { cost: { usd: 1_000 * call } })
      if (reservation.allowed) await reservation.settle({ usd: 700 * call })
      const { policies } = await limiter.check(ACME, { cost: { usd: 0 } })
      const [budget] = policies

      const used = await usage(limiter, { by, ...options, from: clock() })
      const [period] = used.calendar?.periods ?? []
      const spent = used.rows.reduce((sum, { usd }) => sum + usd, 0)
      expect([period?.endsAt, spent]).toEqual([budget?.resetsAt, LIMIT - (budget?.remaining ?? 0)])
      periods.add(period?.startsAt ?? '')
      clock.advance(stepMs)
    }
    expect(periods.size).toBeGreaterThan(1)
  })
})
