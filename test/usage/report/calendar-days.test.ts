import { focusCsv, usage, usageCsv, type Usage, type UsageRow } from '@sluice/usage/report'
import { expect, it } from 'vitest'
import { readCalls } from '../../replay/support.ts'
import { ofOutcome, sumOf, traffic, type Sent } from './calendar-support.ts'
import { violations } from './focus-rules.ts'
import { DAY_MS } from './weeks.ts'

const HOUR_MS = 3_600_000

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
