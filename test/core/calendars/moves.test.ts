import { dailyCap, monthlyCap, type Policy } from '@sluice/core'
import { calendar, type PeriodStart } from '@sluice/core/calendars'
import { describe, expect, it } from 'vitest'
import { running } from '../../suites.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { Random } from '../../world/random.ts'

/** The place to which a tenant moves at the end of a period. */
interface Home {
  readonly zone: string
  readonly hour?: number
  readonly day?: number
}

/** Zones from 12 hours behind UTC to 14 ahead, some of them by quarters of an hour. */
const ZONES = [
  'Etc/GMT+12',
  'Pacific/Honolulu',
  'America/Los_Angeles',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'Atlantic/Azores',
  'Europe/London',
  'Europe/Berlin',
  'Africa/Cairo',
  'Asia/Tehran',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Eucla',
  'Asia/Tokyo',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
]

/** The calendar of each tenant is what its claims say at the moment. */
const movingTo = (home: () => Home) => {
  const on = (): PeriodStart => {
    const { hour = 0, day } = home()
    return { hour, ...(day !== undefined && { day }) }
  }
  return calendar({ zone: () => home().zone, on })
}
const options = { name: 'p', limit: 1, per: ['tenant'] } as const

const START = Date.parse('2025-12-31T22:00Z')
const YEAR = 365 * DAY

/** Returns the budgets that a tenant uses up in a year, if it moves at the end of each, and the shortest period. */
async function budgetsOf(
  next: (turn: number, now: number) => Home,
  make: (options: object) => Policy = dailyCap as never,
  store = {},
) {
  let home = next(0, START)
  const policy = make({ ...options, resets: movingTo(() => home) })
  const { limiter, clock } = setUp([policy], store)
  clock.set(START)
  let [budgets, turn, shortest] = [0, 0, Infinity]
  while (clock() < START + YEAR) {
    const { allowed, policies } = await limiter.check(ACME)
    const length = policies[0]?.resetMs ?? 0
    if (allowed) budgets += 1
    // The first period was there before it.
    if (turn > 0) shortest = Math.min(shortest, length)
    clock.advance(length)
    turn += 1
    home = next(turn, clock())
  }
  return { budgets, shortest }
}

const hourOf = (time: number): number => new Date(time).getUTCHours()

const turning =
  (zones: readonly string[]) =>
  (turn: number): Home => ({ zone: zones[turn % zones.length] ?? 'UTC' })

const EASTWARD = ['Pacific/Honolulu', 'America/New_York', 'Europe/London', 'Asia/Tokyo']
const ROUTES: Readonly<Record<string, readonly string[]>> = {
  'westward from Berlin': ['Europe/Berlin', 'Europe/London', 'Atlantic/Azores'],
  'westward around the world': EASTWARD.toReversed(),
  'eastward around the world': EASTWARD,
  'between Apia and Honolulu, a day apart': ['Pacific/Apia', 'Pacific/Honolulu'],
}

describe('a tenant that moves at the end of each day', () => {
  const redis = sharedRedis()

  it.each(Object.entries(ROUTES))('has 366 days a year at most: %s', async (_, zones) => {
    const { budgets, shortest } = await budgetsOf(turning(zones))
    expect(budgets).toBeLessThanOrEqual(366)
    expect(shortest).toBeGreaterThanOrEqual(0.9 * DAY)
  })

  it('has the same days in Redis', async () => {
    const next = turning(ROUTES['westward from Berlin'] ?? [])
    const inRedis = await budgetsOf(next, undefined, { store: redis.store() })
    expect(inRedis).toEqual(await budgetsOf(next))
  })

  it('has no day of less than nine tenths, whatever zones and hours it moves to', async () => {
    const found = []
    for (let seed = 1; seed <= (running === 'all' ? 200 : 8); seed += 1) {
      const random = new Random(seed)
      const next = () => ({ zone: random.pick(ZONES), hour: random.whole(0, 23) })
      found.push(await budgetsOf(next))
    }
    expect(Math.min(...found.map(({ shortest }) => shortest))).toBeGreaterThanOrEqual(0.9 * DAY)
    // 365 days in parts of nine tenths.
    expect(Math.max(...found.map(({ budgets }) => budgets))).toBeLessThanOrEqual(406)
  })

  it('has 399 days at most where each begins two hours earlier than the one before', async () => {
    // Zones differ by quarters of an hour, so that some days have 21 hours and 45 minutes; those after them are longer.
    const { budgets, shortest } = await budgetsOf((_, now) => ({
      zone: 'UTC',
      hour: hourOf(now + 22 * HOUR),
    }))
    expect(shortest).toBe(22 * HOUR)
    expect(budgets).toBe(399)
  })
})

describe('a tenant that moves at the end of each month', () => {
  it('has no month of less than 27 days, whatever days and zones it moves to', async () => {
    const found = []
    for (let seed = 1; seed <= (running === 'all' ? 400 : 40); seed += 1) {
      const random = new Random(seed)
      const next = () => ({
        zone: random.pick(ZONES),
        hour: random.whole(0, 23),
        day: random.whole(1, 31),
      })
      found.push(await budgetsOf(next, monthlyCap as never))
    }
    expect(Math.min(...found.map(({ shortest }) => shortest))).toBeGreaterThanOrEqual(27 * DAY)
    expect(Math.max(...found.map(({ budgets }) => budgets))).toBeLessThanOrEqual(14)
  })
})
