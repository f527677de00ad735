import { findings, type Finding } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { hoursOf, simulateFleet } from './fleets.ts'
import { PLANTS as FLEET_PLANTS } from './planted.ts'
import * as plants from './plants.ts'
import { agent, heavyUser, retryStorm, scraper, simulateWeek, type Plant } from './weeks.ts'

const seedsFrom = (first: number): number[] =>
  Array.from({ length: 20 }, (_, index) => first + index)

/** Seeds that were not looked at while the findings were built. */
const SEEDS = seedsFrom(7_001)
const CLEAN_FLEETS = seedsFrom(1_750_001)
const PLANTED_FLEETS = seedsFrom(1_860_001)

const PLANTS = { scraper, storm: retryStorm, agent, heavy: heavyUser }

/** Ten kinds of tenants to look at, twice each. */
const KINDS: readonly (readonly [kind: string, plant: Plant])[] = [
  ['scraper', scraper],
  ['pacedScraper', plants.pacedScraper],
  ['pausingScraper', plants.pausingScraper],
  ['retryStorm', retryStorm],
  ['newcomer', plants.newcomer],
  ['lastMinutes', plants.lastMinutes],
  ['leakedKey', plants.leakedKey],
  ['dearModel', plants.dearModel],
  ['bulkNight', plants.bulkNight],
  ['weekendBot', plants.weekendBot],
]
const PLANTED = [...KINDS, ...KINDS]

const kindsOf = (found: readonly Finding[], tenant: string): string[] =>
  found.filter((finding) => finding.tenant === tenant).map(({ kind }) => kind)

describe('findings', () => {
  it('name nobody in weeks in which nothing is planted', () => {
    const named = SEEDS.map((seed) => findings(simulateWeek(seed)).map(({ text }) => text))
    expect(named.flat()).toEqual([])
  })

  it('name the scraper, the retry storm and the agent in each week, and nobody else', () => {
    for (const seed of SEEDS) {
      const found = findings(simulateWeek(seed, PLANTS))
      const tenants = new Set(found.map(({ tenant }) => tenant))
      expect([seed, ...[...tenants].toSorted()]).toEqual([seed, 'agent', 'scraper', 'storm'])
      expect(kindsOf(found, 'scraper')).toContain('abnormal-usage')
      expect(kindsOf(found, 'storm')).toContain('retry-storm')
      expect(kindsOf(found, 'agent')).toContain('outsized-share')
    }
  })

  it('name at least 18 of 20 tenants of ten kinds, each in a week of its own, and nobody else', () => {
    const named = PLANTED.map(([kind, plant], index) => {
      const found = findings(simulateWeek(41_001 + index, { [kind]: plant }))
      const others = found.filter(({ tenant }) => tenant !== kind)
      expect(others.map(({ text }) => text)).toEqual([])
      return found.length > 0 ? kind : `not ${kind}`
    })
    expect(named.filter((kind) => !kind.startsWith('not')).length).toBeGreaterThanOrEqual(18)
  })

  it('name nobody in 20 weeks of healthy tenants: large, new, and at work day and night', () => {
    const { healthyNewcomer, worker } = plants
    const named = PLANTED.flatMap((_, index) =>
      findings(simulateWeek(42_001 + index, { heavyUser, healthyNewcomer, worker })),
    )
    expect(named.map(({ text }) => text)).toEqual([])
  })

  it.each<[name: string, plant: Plant, kind: string]>([
    ['paces itself through the day of the smallest plan', plants.pacedScraper, 'abnormal-usage'],
    ['pauses for 20 minutes now and then', plants.pausingScraper, 'round-the-clock'],
    ['is new, and has 80 % of all dollars', plants.newcomer, 'runaway'],
    ['has run away for a quarter of an hour', plants.lastMinutes, 'runaway'],
  ])('name one who %s', (_, plant, kind) => {
    for (const seed of [43_001, 43_002, 43_003]) {
      expect(kindsOf(findings(simulateWeek(seed, { it: plant })), 'it')).toContain(kind)
    }
  })

  it('name a scraper after 24 hours', () => {
    const { hours, days } = simulateWeek(44_001, { scraper })
    const text = findings({ hours, days }).find(({ kind }) => kind === 'abnormal-usage')?.evidence
    const from = Number(text?.['from'])
    const until = (hoursLater: number) => {
      const to = from + hoursLater * 3_600_000
      const before = <Row extends { start: number }>(rows: readonly Row[]): Row[] =>
        rows.filter(({ start }) => start < to)
      return { ...hours, to, rows: before(hours.rows), policies: before(hours.policies) }
    }
    expect(kindsOf(findings({ hours: until(24) }), 'scraper')).toContain('abnormal-usage')
    expect(kindsOf(findings({ hours: until(12) }), 'scraper')).not.toContain('abnormal-usage')
  })

  it('name a retry storm without any other hour to compare with', () => {
    const start = Date.UTC(2026, 0, 14, 12)
    const row = { start, tenant: 'acme', route: '', model: '', plan: '', tokens: 0, usd: 0 }
    const rows = [
      { ...row, outcome: 'allowed' as const, requests: 60 },
      { ...row, outcome: 'denied' as const, requests: 200 },
    ]
    const hours = { by: 'hour' as const, from: start, to: start + 3_600_000, rows, policies: [] }
    expect(findings({ hours }).map(({ text }) => text)).toEqual([
      'acme was denied 200 requests of 260 in the hour from 14 January, 12:00, where 0 an hour are usual: its client retries without waiting.',
    ])
  })

  it('are sentences with their evidence', () => {
    const texts = findings(simulateWeek(SEEDS[0] ?? 0, PLANTS)).map(({ text }) => text)
    for (const text of texts) expect(text).toMatch(/^(scraper|storm|agent) .*\d.*\.$/)
  })

  it('refuse rows of another period', () => {
    const { hours, days } = simulateWeek(1)
    expect(() => findings({ hours: days })).toThrow('findings.hours: must be usage by hour')
    expect(() => findings({ hours, days: hours })).toThrow('findings.days: must be usage by day')
  })
})

describe('findings in weeks of offices, agents, jobs, growth and new tenants', () => {
  it('name nobody in 20 weeks in which nothing is planted', () => {
    const named = CLEAN_FLEETS.flatMap((seed) =>
      findings({ hours: hoursOf(simulateFleet(seed)) }).map(({ text }) => [seed, text]),
    )
    expect(named).toEqual([])
  })

  it('name at least 18 of 20 that are planted, two of each kind, and nobody else', () => {
    const kinds = Object.entries(FLEET_PLANTS)
    const weeks = PLANTED_FLEETS.map((seed, index) => {
      const [kind, plant] = kinds[index % kinds.length] ?? kinds[0] ?? []
      const fleet = simulateFleet(seed)
      const planted = plant?.(fleet)
      const tenants = findings({ hours: hoursOf(fleet) }).map(({ tenant }) => tenant)
      return {
        seed,
        kind,
        isNamed: tenants.includes(planted?.tenant ?? ''),
        others: tenants.filter((tenant) => tenant !== planted?.tenant),
      }
    })
    expect(kinds).toHaveLength(10)
    expect(weeks.filter(({ others }) => others.length > 0)).toEqual([])
    const missed = weeks.filter(({ isNamed }) => !isNamed)
    expect(missed.length).toBeLessThanOrEqual(2)
  })
})
