import { focusCsv, shadowReport, shadowText, usage, type UsageOptions } from '@sluice/usage/report'
import { expect, it } from 'vitest'
import { recording } from '../support.ts'
import { ofOutcome, sumOf, traffic } from './calendar-support.ts'

const HOUR_MS = 3_600_000

it.each([
  ['day', {}, ['2026-02-13', '2026-02-14', '2026-02-15', '2026-02-16', '2026-02-17', '2026-02-18']],
  [
    'day',
    { on: { hour: 6 } },
    ['2026-02-13', '2026-02-14', '2026-02-15', '2026-02-16', '2026-02-17', '2026-02-18'],
  ],
  ['week', {}, ['2026-02-09', '2026-02-16']],
  ['week', { on: { weekday: 'sunday' } }, ['2026-02-08', '2026-02-15']],
  ['month', {}, ['2026-02-01']],
  ['month', { anchor: '2024-01-15T06' }, ['2026-01-15', '2026-02-15']],
  ['month', { on: { day: 16 } }, ['2026-01-16', '2026-02-16']],
  ['year', { anchor: '2020-02-15' }, ['2025-02-15', '2026-02-15']],
] satisfies [UsageOptions['by'], UsageOptions, string[]][])(
  'each %s with %j has what was used in it',
  async (by, options, starts) => {
    const zone = 'Asia/Kolkata'
    const { limiter, sent } = await traffic('2026-02-13T06:00:00Z', 5)
    const used = await usage(limiter, { by, zone, from: '2026-02-13', ...options })
    const { calendar } = used
    const periods = calendar?.periods ?? []
    expect(periods.map(({ startsAt }) => startsAt.slice(0, 10))).toEqual(starts)
    const expected = periods.map(({ start, end }) =>
      sumOf(
        sent.filter(({ at }) => start <= at && at < end),
        ({ usd }) => usd,
      ),
    )
    expect(ofOutcome(used, 'allowed').map(({ usd }) => usd)).toEqual(expected)
    expect(sumOf(expected, (usd) => usd)).toBe(sumOf(sent, ({ usd }) => usd))
  },
)
it('hours of a zone are those of UTC, in local time, from the start of a local day', async () => {
  const { limiter } = await traffic('2026-10-24T20:00:00Z', 1)
  const zone = 'Europe/Berlin'
  const used = await usage(limiter, { zone, from: '2026-10-25', to: '2026-10-26' })
  expect(
    used.rows
      .map(({ startsAt }) => startsAt)
      .filter((_, index) => index % 2 === 0)
      .slice(0, 5),
  ).toEqual([
    '2026-10-25T00:00:00+02:00[Europe/Berlin]',
    '2026-10-25T01:00:00+02:00[Europe/Berlin]',
    '2026-10-25T02:00:00+02:00[Europe/Berlin]',
    '2026-10-25T02:00:00+01:00[Europe/Berlin]',
    '2026-10-25T03:00:00+01:00[Europe/Berlin]',
  ])
  expect(used.to - used.from).toBe(25 * HOUR_MS)
  expect(used.quarters?.[0]?.startsAt).toBe('2026-10-25T00:00:00+02:00[Europe/Berlin]')
})

it('the shadow report says local time', async () => {
  const { limiter } = await traffic('2026-01-10T00:00:00Z', 2)
  const used = await usage(limiter, {
    by: 'day',
    zone: 'Asia/Tokyo',
    from: '2026-01-10',
    to: '2026-01-12',
  })
  const text = shadowText(shadowReport(used))
  expect(text).toContain('From 2026-01-10 00:00 to 2026-01-12 00:00 (Asia/Tokyo)\n')
  expect(text).toMatch(/Most in the day from 2026-01-1\d 00:00: \d+\n/)
})

it.each([
  [{ zone: 'Mars/Olympus' }, 'usage.zone'],
  [{ zone: '' }, 'usage.zone'],
  [{ anchor: '2026-02-30' }, 'usage.anchor'],
  [{ anchor: '2026-01-31', on: { hour: 6 } }, 'usage.anchor'],
  [{ by: 'day', on: { day: 3 } }, 'usage.on.day'],
  [{ by: 'month', on: { day: 32 } }, 'usage.on.day'],
  [{ by: 'week', on: { weekday: 'mon' } }, 'usage.on.weekday'],
  [{ by: 'fortnight' }, 'usage.by'],
  [{ by: 'day', zone: 'Asia/Tokyo', from: '2026-01-02', to: '2026-01-01' }, 'usage.from'],
  [{ by: 'day', zone: 'Asia/Tokyo', from: 'soon' }, 'usage.from'],
  [{ by: 'day', zone: 'Asia/Tokyo', from: '1970-02-01' }, 'usage.from'],
] as [UsageOptions, string][])('refuses %j: %s', async (options, option) => {
  const { limiter } = recording()
  await expect(usage(limiter, options)).rejects.toThrow(expect.objectContaining({ option }))
})

it.each(['week', 'year'] as const)(
  'has no FOCUS file by %s, which lies in no month',
  async (by) => {
    const { limiter } = recording()
    const used = await usage(limiter, { by })
    expect(() => focusCsv(used, { billingAccount: 'org-1', provider: 'OpenAI' })).toThrow(
      'focusCsv.by',
    )
  },
)
