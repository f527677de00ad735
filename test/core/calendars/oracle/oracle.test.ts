import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { periodAt } from '../../../../packages/core/src/calendars/periods.ts'
import { localText } from '../../../../packages/core/src/calendars/zone.ts'
import { boundariesOf, type Anchor } from './boundaries.ts'
import { compare, type Product } from './compare.ts'
import { clocksHere, compareHere } from './runtime.ts'
import { offsetOf, tableOf, VERSIONS } from './tables.ts'
import tzdata from './tzdata.json' with { type: 'json' }
import { ZONES } from './zones.ts'

const { tz, version, apart } = clocksHere()

describe('the oracle', () => {
  const newest = tableOf(VERSIONS.at(-1) ?? '')

  it.each([
    ['a day that does not exist', 'Pacific/Apia', {}, '2011-12-29T10 2011-12-30T10 2011-12-31T10'],
    ['a skipped midnight', 'Africa/Cairo', {}, '2026-04-22T22 2026-04-23T22 2026-04-24T21'],
    [
      'a midnight that comes twice',
      'America/Havana',
      {},
      '2024-11-02T04 2024-11-03T04 2024-11-04T05',
    ],
    [
      'a skipped half hour',
      'Australia/Lord_Howe',
      { hour: 2 },
      '2025-10-03T15:30 2025-10-04T15:30 2025-10-05T15:00',
    ],
    [
      'a leap day',
      'UTC',
      { every: 'year', month: 2, day: 29 },
      '2023-02-28T00 2024-02-29T00 2025-02-28T00',
    ],
    [
      'a short month',
      'Europe/Berlin',
      { every: 'month', day: 31 },
      '2026-02-27T23 2026-03-30T22 2026-04-29T22',
    ],
    [
      'the day of a week',
      'America/New_York',
      { every: 'week', weekday: 6 },
      '2026-03-01T05 2026-03-08T05 2026-03-15T04',
    ],
  ] satisfies [string, string, Partial<Anchor>, string][])('knows %s', (_, zone, part, times) => {
    const anchor: Anchor = { every: 'day', month: 1, day: 1, weekday: 0, hour: 0, ...part }
    const found = boundariesOf(newest.get(zone) ?? [], anchor).map((boundary) =>
      new Date(boundary).toISOString(),
    )
    const expected = times
      .split(' ')
      .map((time) => `${time.length > 13 ? time : `${time}:00`}:00.000Z`)
    const first = found.indexOf(expected[0] ?? '')
    expect(found.slice(first, first + 3)).toEqual(expected)
  })

  it.each([
    ['an end that is a millisecond late', { periodAt: withEnd((end) => end + 1) }],
    ['the second of two midnights', { periodAt: withEnd(secondOfTwo) }],
    [
      'a text with the wrong hour',
      { localText: () => '2026-01-01T00:00:00-05:00[America/Havana]' },
    ],
  ] satisfies [string, Partial<Product>][])('notices %s', (_, mistake) => {
    const product = { periodAt, localText, ...mistake }
    expect(
      compare(product, tableOf(version), ['America/Havana'], 'changes').deviations,
    ).toBeGreaterThan(5)
  })

  it('has the newest version that the page of facts names, as it was read that day or before', () => {
    const page = readFileSync(new URL('../../../../docs/facts.md', import.meta.url), 'utf8')
    const lists = page.split(/\n(?=`)/)
    const list = lists.find((one) => one.includes('moment/moment-timezone')) ?? ''
    const [, day = ''] = /, (\d{4}-\d\d-\d\d):/.exec(list) ?? []
    const [, newestThere] = /newest is (\w+),/.exec(list) ?? []
    expect(newestThere).toBe(VERSIONS.at(-1))
    expect(Date.parse(day)).toBeGreaterThanOrEqual(Date.parse(tzdata.read))
  })

  it('finds the version of clocks that do not name theirs', () => {
    expect(clocksHere('unnamed').apart).toEqual(apart)
    expect(clocksHere('1999a').apart).toEqual(apart)
  })
})

/** Returns `periodAt` with other ends. */
function withEnd(change: (end: number) => number): Product['periodAt'] {
  return (...args) => {
    const period = periodAt(...args)
    return { ...period, finish: change(period.finish) }
  }
}

/** Returns the second instant at which clocks in Havana show the same, if there is one. */
function secondOfTwo(instant: number): number {
  const spans = tableOf(version).get('America/Havana') ?? []
  const later = instant + 3_600_000
  const isSame = instant + offsetOf(spans, instant) === later + offsetOf(spans, later)
  return isSame ? later : instant
}

it('periods are those of the tables of tz, around each change of clocks since 2006 and on days between', () => {
  if (apart.length > 0)
    console.warn(`NOT COMPARED: tz ${tz} differs from ${version} in ${apart.join(', ')}`)
  const zones = ZONES.filter((zone) => !apart.includes(zone))
  const { boundaries, deviations, examples } = compareHere(version, zones, 'changes')
  expect({ deviations, examples }).toEqual({ deviations: 0, examples: [] })
  expect(boundaries).toBeGreaterThan(12_000)
  expect(apart.length).toBeLessThan(5)
})
