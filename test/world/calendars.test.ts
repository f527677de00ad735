import { describe, expect, it } from 'vitest'
import { CALM } from './faults.ts'
import type { Rule } from './judges/rules.ts'
import type { Setting } from './setting.ts'
import { World, type Outcome } from './world.ts'

const DAY: Rule = {
  name: 'day',
  kind: 'daily',
  limit: 60,
  windowMs: 86_400_000,
  longestMs: 86_400_000,
  calendar: { zones: ['Europe/Berlin'], hour: 2 },
  per: ['tenant'],
  unit: 'request',
  enforced: true,
  rollout: undefined,
  burst: 1,
  segments: 1,
  waitMs: 0,
  stripes: 1,
  log: undefined,
  leaseMs: 0,
}

const WEEK_MS = 7 * 86_400_000
const WEEK: Rule = { ...DAY, name: 'week', windowMs: WEEK_MS, longestMs: WEEK_MS }

/** Days in Berlin, in a zone of each tenant, and of units that are settled later; and weeks in New York. */
const rulesOf = (dayHour: number, week: NonNullable<Rule['calendar']>): readonly Rule[] => [
  { ...DAY, calendar: { zones: ['Europe/Berlin'], hour: dayHour } },
  { ...DAY, name: 'theirs', calendar: { zones: ['Asia/Tokyo', 'Europe/Berlin'], hour: dayHour } },
  {
    ...DAY,
    name: 'tokens',
    unit: 'token',
    limit: 60_000,
    calendar: { zones: ['Europe/Berlin'], hour: dayHour },
  },
  { ...WEEK, unit: 'usd', limit: 600_000, calendar: week },
]

/** An app beside it, in whose calendar days end ten hours later. */
const later = (rules: readonly Rule[]): readonly Rule[] =>
  rules.map((rule) =>
    rule.name === 'week' ? rule : { ...rule, calendar: { zones: ['UTC'], hour: 10 } },
  )

/** Shortly before clocks go forward in Berlin, and before they have gone back. */
const SPRING = rulesOf(2, { zones: ['America/New_York'], hour: 21, weekday: 6 })
const AUTUMN = rulesOf(2, { zones: ['America/New_York'], hour: 20, weekday: 6 })

const WORLDS: Readonly<Record<string, Partial<Setting>>> = {
  'that skips an hour': {
    startMs: Date.parse('2026-03-29T00:59:59.300Z'),
    deployments: [
      { name: 'now', rules: SPRING },
      { name: 'next', rules: later(SPRING) },
    ],
  },
  'with an hour that comes twice': {
    startMs: Date.parse('2026-10-24T23:59:59.300Z'),
    deployments: [{ name: 'now', rules: AUTUMN }],
  },
}

/** One in which each of the mistakes below shows. */
const SEED = 4

const live = (name: string, mutate?: (bundle: string) => string): Promise<Outcome> =>
  World.run(SEED, {
    decisions: 700,
    replace: {
      wrappers: 'plain',
      tenants: ['acme-7Qx', 'globex-7Qx'],
      isolates: 3,
      weather: { ...CALM, trouble: 0.05, deathMs: 20_000, skew: true },
      gapMs: 50,
      burst: 1,
      ...WORLDS[name],
    },
    ...(mutate && { mutate }),
  })

describe('in a world where anything can go wrong, a period ends by its calendar', () => {
  it.each(Object.keys(WORLDS))('on a day %s', async (name) => {
    const { violations, server } = await live(name)
    expect(violations).toEqual([])
    expect(server['retries']).toBeGreaterThan(0)
    expect(server['corrections']).toBeGreaterThan(0)
    // Some clocks are off by days.
    expect(server['endless']).toBeGreaterThan(0)
  })

  it.each([
    [
      'a period that runs loses its end',
      'if last > now then ending',
      'if last > now and (last == finish or last == following) then ending',
    ],
    ['a change begins a short period', 'ends[at] - last < length * 0.9', 'false'],
    [
      'a settlement after a period is charged to none',
      'if ending then\n    applied',
      'if last and last > now then\n    applied',
    ],
    ['an hour that is skipped is the one before', 'Math.max(change, local - ', '(local - '],
  ] as const)('is noticed: %s', async (_, from, to) => {
    const { violations } = await live('that skips an hour', (bundle) => {
      expect(bundle).toContain(from)
      return bundle.replaceAll(from, () => to)
    })
    expect(violations).not.toEqual([])
  })
})
