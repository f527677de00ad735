import { dailyCap, fixedWindow, manualClock, monthlyCap } from '@sluice/core'
import { calendar, type CalendarOptions } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { periodAt } from '../../../packages/core/src/calendars/periods.ts'
import { MIDNIGHT, strokeOfAnchor } from '../../../packages/core/src/calendars/stroke.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { otherwise } from './support.ts'

const iso = (time: number): string => new Date(time).toISOString()

/** The period at a time, as text. */
const dayIn = (zone: string, now: string): string[] =>
  Object.values(periodAt('day', MIDNIGHT, zone, Date.parse(now))).map(iso)

describe('a day', () => {
  it('has begun where clocks show the evening before once more', () => {
    // At 00:01 they went back to 23:01.
    expect(dayIn('America/St_Johns', '2010-11-07T02:45Z')).toEqual([
      '2010-11-07T02:30:00.000Z',
      '2010-11-08T03:30:00.000Z',
      '2010-11-09T03:30:00.000Z',
    ])
  })

  it('that a zone skips is none: the one before ends where the one after begins', () => {
    expect(dayIn('Pacific/Apia', '2011-12-29T22:00Z')).toEqual([
      '2011-12-29T10:00:00.000Z',
      '2011-12-30T10:00:00.000Z',
      '2011-12-31T10:00:00.000Z',
    ])
  })

  it.each([
    ['with its own period', { every: 'day', on: { hour: 6 } }],
    ['by the hour of a start', { on: { day: 15, hour: 6 } }],
    ['by the hour of a function', { on: () => ({ day: 15, hour: 6 }) }],
  ] as const)('of a calendar begins at its hour, %s', async (_, options: CalendarOptions) => {
    const given = calendar(options)
    const resets = options.every ? given : given.forDays()
    const { limiter, clock } = setUp([dailyCap({ name: 'd', limit: 1, per: ['tenant'], resets })])
    clock.set(Date.parse('2026-05-03T04:00Z'))
    expect((await limiter.check(ACME)).policies[0]?.resetMs).toBe(2 * HOUR)
  })
})

it('an anchor before 1970 has its weekday', () => {
  expect(strokeOfAnchor('1960-01-05T07', 'UTC')).toEqual({ month: 1, day: 5, weekday: 1, hour: 7 })
})

it('an anchor at the end of time is none', () => {
  expect(strokeOfAnchor(8_640_000_000_000_000, 'Pacific/Kiritimati')).toBeUndefined()
})

it.each([
  ['day', DAY],
  ['week', 7 * DAY],
  ['month', 0],
  ['year', 365 * DAY],
] as const)('the keys of a %s name %d ms', (every, ms) => {
  const resets = calendar({ every })
  const [rule] = fixedWindow({ name: 'p', limit: 1, per: 'global', resets })()
  expect(rule?.params).toEqual([ms])
})

it.each([
  [27 * DAY, 0],
  [27 * DAY - 1, 30 * DAY],
])('begins a month of %d ms, or one that runs on by %d', async (ms, more) => {
  const [store, clock] = [memory(), manualClock(Date.parse('2026-05-31T23:00Z'))]
  const end = clock() + HOUR
  const policy = monthlyCap({ name: 'm', limit: 3, per: ['tenant'], resets: calendar({}) })
  await setUp([policy], { store, clock }).limiter.check(ACME)
  clock.set(end)
  const next = { since: end, finish: end + ms, following: end + ms + 30 * DAY }
  const { limiter } = setUp([otherwise(policy, () => next)], { store, clock })
  expect((await limiter.check(ACME)).policies[0]).toMatchObject({ resetMs: ms + more })
})
