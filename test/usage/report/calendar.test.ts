import { manualClock, slidingWindow, type Limiter } from '@sluice/core'
import {
  focusCsv,
  shadowReport,
  shadowText,
  undividedTexts,
  usage,
  usageCsv,
  type Usage,
  type UsageOptions,
  type UsageRow,
} from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { readCalls } from '../../replay/support.ts'
import { recording } from '../support.ts'
import { violations } from './focus-rules.ts'
import { DAY_MS } from './weeks.ts'

const HOUR_MS = 3_600_000
const QUARTER_MS = 900_000

/** A policy for each unit of a row, and one in shadow, with room for all but the denials. */
const POLICIES = [
  slidingWindow({ name: 'rpm', limit: 1, window: '1s', per: ['tenant'] }),
  slidingWindow({ name: 'usd', unit: 'usd', limit: 1e12, window: '1m', per: ['tenant'] }),
  slidingWindow({ name: 'next', limit: 1, window: '1h', per: ['tenant'], mode: 'shadow' }),
]

interface Sent {
  readonly at: number
  readonly usd: number
}

/** Sends a request and one that is denied in each quarter-hour; each request costs another amount. */
async function traffic(
  start: string,
  days: number,
  keepHours: `${number}d` = '8d',
): Promise<{ limiter: Limiter; sent: Sent[] }> {
  const clock = manualClock(Date.parse(start))
  const { limiter } = recording(POLICIES, { clock, usage: { tenants: 'plain', keepHours } })
  const sent: Sent[] = []
  for (let quarter = 0; quarter < days * 96; quarter += 1) {
    const usd = 1_000 + quarter
    await limiter.check({ tenant: 'acme' }, { cost: { usd } })
    await limiter.check({ tenant: 'acme' }, { cost: { usd } })
    sent.push({ at: clock(), usd })
    clock.advance(QUARTER_MS)
  }
  return { limiter, sent }
}

/** The date that clocks in a zone show, by the runtime alone. */
function dateIn(zone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  return (at) => format.format(at)
}

const sumOf = <T>(items: readonly T[], valueOf: (item: T) => number): number =>
  items.reduce((sum, item) => sum + valueOf(item), 0)

const ofOutcome = ({ rows }: Usage, outcome: UsageRow['outcome']): UsageRow[] =>
  rows.filter((row) => row.outcome === outcome)

/** The dollars that were used by the date of `startsAt`. */
const usdByDate = (rows: readonly UsageRow[]): Record<string, number> =>
  Object.fromEntries(rows.map(({ startsAt = '', usd }) => [startsAt.slice(0, 10), usd]))

function expectedByDate(sent: readonly Sent[], zone: string): Record<string, number> {
  const dateOf = dateIn(zone)
  const sums: Record<string, number> = {}
  for (const { at, usd } of sent) sums[dateOf(at)] = (sums[dateOf(at)] ?? 0) + usd
  return sums
}

/** Zones, with the lengths in hours of the days from a date on. */
const ZONES = [
  ['UTC', '2026-10-24', [24, 24, 24]],
  ['Europe/Berlin', '2026-03-28', [24, 23, 24]],
  ['Europe/Berlin', '2026-10-24', [24, 25, 24]],
  ['America/New_York', '2026-10-31', [24, 25, 24]],
  ['America/St_Johns', '2026-10-31', [24, 25, 24]],
  ['Africa/Cairo', '2026-04-23', [24, 23, 24]],
  ['Asia/Kolkata', '2026-10-24', [24, 24, 24]],
  ['Asia/Kathmandu', '2026-10-24', [24, 24, 24]],
  ['Australia/Lord_Howe', '2026-04-04', [24, 24.5, 24]],
  ['Australia/Lord_Howe', '2026-10-03', [24, 23.5, 24]],
  ['Pacific/Chatham', '2026-09-26', [24, 23, 24]],
  ['Pacific/Kiritimati', '2026-10-24', [24, 24, 24]],
  // The islands had no 30 December.
  ['Pacific/Apia', '2011-12-28', [24, 24, 24]],
] as const

const ACCOUNT = { billingAccount: 'org-1', provider: 'OpenAI' }

it.each(ZONES)(
  'the days of %s from %s on have each request once, in each export',
  async (zone, from, lengths) => {
    const begins = new Date(Date.parse(from) - DAY_MS).toISOString()
    const { limiter, sent } = await traffic(begins, lengths.length + 1)
    const expected = expectedByDate(sent, zone)
    const dates = Object.keys(expected)

    const all = await usage(limiter, {
      by: 'day',
      zone,
      from: begins,
      to: (sent.at(-1)?.at ?? 0) + 1,
    })
    expect(usdByDate(ofOutcome(all, 'allowed'))).toEqual(expected)
    // A denial is counted by quarter-hour, and a use of a policy by hour.
    for (const outcome of ['allowed', 'denied'] as const) {
      expect(sumOf(ofOutcome(all, outcome), ({ requests }) => requests)).toBe(sent.length)
    }
    const own = all.policies.filter(({ policy }) => policy === 'usd')
    expect(sumOf(own, ({ units }) => units)).toBe(sumOf(sent, ({ usd }) => usd))

    const periods = all.calendar?.periods ?? []
    expect(periods.map(({ startsAt }) => startsAt.slice(0, 10))).toEqual(dates)
    const hours = periods.map(({ start, end }) => (end - start) / HOUR_MS)
    const first = dates.indexOf(from)
    expect(hours.slice(first, first + lengths.length)).toEqual(lengths)

    // A report of each day alone: together they are the report of all.
    const each = await Promise.all(
      periods.map(({ start, end }) => usage(limiter, { by: 'day', zone, from: start, to: end })),
    )
    expect(each.flatMap(({ rows }) => rows)).toEqual(all.rows)
    expect(each.flatMap(({ policies }) => policies)).toEqual(all.policies)
    await expectSameExports(all, zone, sent)
  },
)

/** Expects the dollars of each export to be those that were sent, in times of the zone. */
async function expectSameExports(used: Usage, zone: string, sent: readonly Sent[]): Promise<void> {
  const dollars = sumOf(sent, ({ usd }) => usd) / 1_000_000
  const [head = '', ...lines] = usageCsv(used.rows).trimEnd().split('\r\n')
  expect(head.endsWith(',prevented_dollars,time_zone')).toBe(true)
  expect(lines.every((line) => line.endsWith(`,${zone}`))).toBe(true)
  expect(sumOf(lines, (line) => Number(line.split(',')[9]))).toBeCloseTo(dollars, 6)
  const { calls } = await readCalls(usageCsv(used.rows))
  expect(calls).toHaveLength(2 * sent.length)

  const file = focusCsv(used, ACCOUNT)
  // A month of the zone is no month in UTC.
  const broken = new Set(violations(file.replaceAll(/,(x_TimeZone|[^,]*)\r\n/g, '\r\n')))
  broken.delete('The billing period is no month')
  expect([...broken]).toEqual([])
  expect(focusTimes(file).map(({ ChargePeriodStart }) => Date.parse(ChargePeriodStart))).toEqual(
    ofOutcome(used, 'allowed').map(({ start }) => start),
  )
  for (const times of focusTimes(file)) expect(isWithin(times)).toBe(true)
}

const FOCUS_TIMES = [
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargePeriodStart',
  'ChargePeriodEnd',
] as const

type FocusTimes = Record<(typeof FOCUS_TIMES)[number], string>

function focusTimes(file: string): FocusTimes[] {
  const [head = '', ...lines] = file.trimEnd().split('\r\n')
  const columns = head.split(',')
  return lines.map((line) => {
    const cells = line.split(',')
    const named = FOCUS_TIMES.map((name) => [name, cells[columns.indexOf(name)] ?? ''])
    return Object.fromEntries(named) as FocusTimes
  })
}

const isWithin = (times: FocusTimes): boolean => {
  const { BillingPeriodStart, ChargePeriodStart, ChargePeriodEnd, BillingPeriodEnd } = times
  const order = [BillingPeriodStart, ChargePeriodStart, ChargePeriodEnd, BillingPeriodEnd]
  return order.join() === order.toSorted().join()
}

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
    expect(() => focusCsv(used, ACCOUNT)).toThrow('focusCsv.by')
  },
)
