import { findings, type Finding } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { agent, heavyUser, retryStorm, scraper, simulateWeek } from './weeks.ts'

/** Seeds that were not looked at while the findings were built. */
const SEEDS = Array.from({ length: 20 }, (_, index) => 7_001 + index)

const PLANTS = { scraper, storm: retryStorm, agent, heavy: heavyUser }

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
