import { manualClock } from '@sluice/core'
import { undividedTexts, usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { recording } from '../support.ts'
import { ofOutcome, POLICIES, sumOf, traffic } from './calendar-support.ts'

const HOUR_MS = 3_600_000

describe('what cannot be divided', () => {
  it('is nothing in a zone of whole hours while hours are kept', async () => {
    const { limiter } = await traffic('2026-01-10T00:00:00Z', 4)
    const used = await usage(limiter, { by: 'day', zone: 'Europe/Berlin', from: '2026-01-10' })
    expect(used.calendar?.undivided).toEqual([])
    expect(undividedTexts(used)).toEqual([])
  })

  it.each([
    ['Asia/Kolkata', 30],
    ['Asia/Kathmandu', 15],
    ['Pacific/Chatham', 15],
  ])(
    'is what hours alone say in %s: it counts once, %i minutes of it elsewhere',
    async (zone, minutes) => {
      const { limiter } = await traffic('2026-01-10T00:00:00Z', 2)
      const used = await usage(limiter, { by: 'day', zone, from: '2026-01-10' })
      const { undivided = [] } = used.calendar ?? {}
      expect(undivided.length).toBeGreaterThan(1)
      expect(new Set(undivided.map(({ by, shiftedMs }) => `${by} ${shiftedMs / 60_000}`))).toEqual(
        new Set([`hour ${minutes}`]),
      )
      expect(undividedTexts(used)).toEqual([
        expect.stringMatching(`^The day begins within .*at most ${minutes} min of it`),
      ])
    },
  )

  it.each([
    ['America/New_York', 5],
    ['Pacific/Auckland', 11],
    ['Asia/Kolkata', 5.5],
  ])('is days whose hours are gone, in %s: each counts once', async (zone, hours) => {
    const { limiter, sent } = await traffic('2026-01-10T00:00:00Z', 6, '2d')
    const used = await usage(limiter, { by: 'day', zone, from: '2026-01-09', to: '2026-01-17' })
    const all = sumOf(ofOutcome(used, 'allowed'), ({ usd }) => usd)
    expect(all).toBe(sumOf(sent, ({ usd }) => usd))
    const days = used.calendar?.undivided.filter(({ by }) => by === 'day') ?? []
    expect(days.map(({ start }) => new Date(start).toISOString().slice(0, 10))).toEqual([
      '2026-01-10',
      '2026-01-11',
      '2026-01-12',
      '2026-01-13',
    ])
    expect(new Set(days.map(({ shiftedMs }) => shiftedMs / HOUR_MS))).toEqual(new Set([hours]))
    expect(undividedTexts(used)[0]).toMatch(/^4 days \(UTC, 2026-01-10 to 2026-01-13\) could not/)
  })

  it('is a day that was recorded while hours were kept for less', async () => {
    const clock = manualClock(Date.parse('2026-01-10T00:00:00Z'))
    const { limiter } = recording(POLICIES, { clock, usage: { tenants: 'plain', keepHours: '1h' } })
    for (let hour = 0; hour < 48; hour += 1) {
      await limiter.check({ tenant: 'acme' }, { cost: { usd: 1 } })
      await usage(limiter)
      clock.advance(HOUR_MS)
    }
    const used = await usage(limiter, { by: 'day', zone: 'Europe/Berlin', from: '2026-01-09' })
    expect(sumOf(ofOutcome(used, 'allowed'), ({ requests }) => requests)).toBe(48)
    expect(used.calendar?.undivided.map(({ by }) => by)).toEqual(['day', 'day'])
  })
})
