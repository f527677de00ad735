import { fixedWindow, monthlyCap } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'
import { dailyBy } from './support.ts'

describe('zones by the thousand', () => {
  it('are looked up once, known or not, and however long', async () => {
    const { limiter } = setUp([dailyBy(1, { zone: ({ zone }) => zone })], {
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
      () => dailyBy(1, { zone: 'Europe/Berln' }),
      /calendar\.zone: must be a time zone .* \(given: "Europe\/Berln"\)/,
    ],
    [
      () => dailyBy(1, { on: { day: 3 } }),
      /dailyCap\.resets\.on\.day: unknown option; expected "hour"/,
    ],
    [
      () => dailyBy(1, { on: { hour: 24 } }),
      /resets\.on\.hour: must be a whole number from 0 to 23/,
    ],
    [() => dailyBy(1, { every: 'week' }), /dailyCap\.resets\.every: must be left out/],
    [() => dailyBy(1, { anchor: '2026-02-30' }), /calendar\.anchor: must be a date/],
    [
      () => dailyBy(1, { anchor: 1_769_839_200 }),
      /calendar\.anchor: must be a date .* not seconds/,
    ],
    [
      () => dailyBy(1, { anchor: '2026-02-03', on: {} }),
      /calendar\.anchor: must be left out with "on"/,
    ],
    [() => dailyBy(1, { zones: 'UTC' } as never), /calendar\.zones: unknown option/],
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
