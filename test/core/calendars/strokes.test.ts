import {
  createLimiter,
  dailyCap,
  fixedWindow,
  monthlyCap,
  type Decision,
  type Limiter,
  type Store,
} from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { cacheDenials } from '@sluice/core/cache-denials'
import { calendar } from '@sluice/core/calendars'
import { choices } from '@sluice/core/choices'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ACME, collectProblems, setUp } from '../../support/limiters.ts'
import { DAY, HOUR } from '../../support/times.ts'
import { Random } from '../../world/random.ts'
import { storesOfAll, withClock } from './support.ts'

const STORES = storesOfAll()
const LIMIT = 10
const STROKE = Date.parse('2026-11-01T05:00Z')
/** Clocks go back that day, which has 25 hours. */
const NEXT = Date.parse('2026-11-02T06:00Z')

const daily = dailyCap({
  name: 'daily',
  limit: LIMIT,
  per: ['tenant'],
  resets: calendar({ zone: 'America/Chicago' }),
})

/** The time by which the clocks of processes are wrong, from a second to a year. */
const WRONG = [
  0,
  0,
  -1_000,
  1_000,
  -2 * HOUR,
  2 * HOUR,
  -30 * HOUR,
  26 * HOUR,
  50 * HOUR,
  70 * HOUR,
  400 * DAY,
]

type Ask = (limiter: Limiter) => Promise<Decision>
type Way = readonly [policy: typeof daily, wrap: (store: Store) => Store, ask: Ask]

const check: Ask = (limiter) => limiter.check(ACME)
const same = (store: Store): Store => store

const DEAR_OR_CHEAP = choices([
  { subject: { model: 'dear' }, cost: LIMIT + 1 },
  { subject: { model: 'cheap' }, cost: 1 },
])

/** The ways to a limit that decide, or are decided, for several requests at once. */
const WAYS: Readonly<Record<string, Way>> = {
  'each by itself': [daily, same, check],
  'from leases': [lease(daily, { duration: '1s' }), (store) => leased(store), check],
  'beside denials that are known': [daily, (store) => cacheDenials(store), check],
  'among two choices': [daily, same, (limiter) => limiter.check(ACME, { choices: DEAR_OR_CHEAP })],
}

const cells = Object.entries({ ...STORES, 'redis, in batches': () => batched(STORES['redis']!()) })
  .flatMap(([name, make]) =>
    Object.entries(WAYS).map(([way, parts]) => ({ name, way, make, parts })),
  )
  // Objects have leases of their own.
  .filter(({ name, way }) => name !== 'objects' || way !== 'from leases')

describe('25 requests at once before, at and after the stroke', () => {
  it.each(cells)(
    'pass up to the limit of each day, and not above it: $way, in $name',
    async ({ make, parts, way }) => {
      const [policy, wrap, ask] = parts
      let now = STROKE - 2 * HOUR
      const inner = withClock(make(), () => now)
      const { problems, listener } = collectProblems()
      const processes = WRONG.map((wrong) =>
        createLimiter({
          policies: [policy],
          store: wrap(inner),
          clock: () => now + wrong,
          extensions: [listener],
          onStoreError: 'deny',
        }),
      )
      const random = new Random(way)
      const passed = new Map<number, number>()
      for (const at of [STROKE - 1, STROKE, STROKE + 1, NEXT - 1, NEXT]) {
        now = at
        const decisions = await Promise.all(
          Array.from({ length: 25 }, () => ask(random.pick(processes))),
        )
        const end = at < STROKE ? STROKE : at < NEXT ? NEXT : NEXT + DAY
        const count = decisions.filter(({ allowed }) => allowed).length
        passed.set(end, (passed.get(end) ?? 0) + count)
        for (const { source, policies } of decisions) {
          if (source !== 'memory' && source !== 'store') continue
          const [state] = policies.slice(-1)
          expect(state?.resetMs).toBe(end - at)
          expect(Date.parse(state?.resetsAt?.replace(/\[.*/, '') ?? '')).toBe(end)
        }
      }
      expect([...passed.keys()]).toEqual([STROKE, NEXT, NEXT + DAY])
      const counts = [...passed.values()]
      expect(Math.max(...counts)).toBeLessThanOrEqual(LIMIT)
      // A process may hold a unit of a lease that nobody asks it for.
      expect(Math.min(...counts)).toBeGreaterThan(way === 'from leases' ? LIMIT / 2 : LIMIT - 1)
      expect(problems).toEqual([])
    },
  )
})

describe('a line before a day', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('lets the first ten of the next day through at the stroke, and not before', async () => {
    vi.useFakeTimers({ now: STROKE - 20_000 })
    const limiter = createLimiter({ store: memory(), policies: [waitingLine(daily)] })
    for (let time = 0; time < LIMIT; time += 1) await limiter.check(ACME)
    const waited = Array.from({ length: 15 }, () => waitFor(limiter, '1m').check(ACME))
    await vi.advanceTimersByTimeAsync(60_000)
    const decisions = await Promise.all(waited)
    const times = decisions.filter(({ allowed }) => allowed).map(({ at }) => at)
    expect(times).toHaveLength(LIMIT)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(STROKE)
  })
})

/** Policies of each period, in a zone. */
const PERIODS = {
  day: (zone: string) =>
    dailyCap({ name: 'p', limit: 3, per: ['tenant'], resets: calendar({ zone, on: { hour: 2 } }) }),
  week: (zone: string) =>
    fixedWindow({
      name: 'p',
      limit: 3,
      per: ['tenant'],
      resets: calendar({ every: 'week', zone, on: { weekday: 'sunday', hour: 2 } }),
    }),
  month: (zone: string) =>
    monthlyCap({
      name: 'p',
      limit: 3,
      per: ['tenant'],
      resets: calendar({ zone: () => zone, anchor: '2025-12-31T23' }),
    }),
  year: (zone: string) =>
    fixedWindow({
      name: 'p',
      limit: 3,
      per: ['tenant'],
      resets: calendar({ every: 'year', zone, on: { month: 2, day: 29 } }),
    }),
}

const ZONES = [
  'Africa/Casablanca',
  'America/New_York',
  'America/St_Johns',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Pacific/Apia',
  'Pacific/Kiritimati',
]

/** Each period ends in another millisecond of a day, some of them where clocks change. */
const STARTS = ['2026-03-07T21:20:30.123Z', '2026-03-28T12:00Z', '2026-10-31T15:59:59.999Z']

describe.each(Object.entries(STORES))('retryAfterMs in %s', (_, make) => {
  it.each(Object.entries(PERIODS))('of a %s is true to the millisecond', async (__, policyIn) => {
    for (const zone of ZONES) {
      for (const start of STARTS) {
        const { limiter, clock } = setUp([policyIn(zone)], { store: make() })
        clock.set(Date.parse(start))
        await limiter.check(ACME)
        await limiter.check(ACME, { cost: 2 })
        const { allowed, retryAfterMs, violated } = await limiter.check(ACME, { cost: 2 })
        expect([allowed, violated?.resetMs]).toEqual([false, retryAfterMs])
        const end = clock() + (retryAfterMs ?? NaN)
        expect(Date.parse(violated?.resetsAt?.replace(/\[.*/, '') ?? '')).toBe(end)
        clock.set(end - 1)
        expect(await limiter.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
        clock.set(end)
        expect(await limiter.check(ACME, { cost: 3 })).toMatchObject({ allowed: true })
        expect(await limiter.check(ACME)).toMatchObject({ allowed: false })
      }
    }
  })
})
