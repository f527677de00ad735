import {
  createLimiter,
  dailyCap,
  fixedWindow,
  manualClock,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { MINUTE, DAY } from '../../support/times.ts'
import { Ledger, type Account } from './ledger.ts'
import { operations } from './operations.ts'

const START = Date.UTC(2026, 0, 15, 23, 15)
const common = { per: ['tenant'], unit: 'token' } as const

const budget = dailyCap({ name: 'budget', limit: 10 ** 9, ...common })
const rate = slidingWindow({ name: 'rate', limit: 400, window: '1m', ...common })
const policies: Policy[] = [
  budget,
  rate,
  fixedWindow({ name: 'hourly', limit: 10 ** 6, window: '1h', ...common }),
  slidingWindowCounter({ name: 'counter', limit: 500, window: '1m', segments: 6, ...common }),
  slidingWindows({
    name: 'log',
    windows: { second: { limit: 300, window: '10s' }, hour: { limit: 20_000, window: '1h' } },
    ...common,
  }),
  tokenBucket({ name: 'bucket', limit: 450, window: '1m', burst: 500, ...common }),
]

const inWindow =
  (lengthMs: number) =>
  (at: number, now: number): boolean =>
    at > now - lengthMs
const inGrid =
  (lengthMs: number, segments = 0) =>
  (at: number, now: number): boolean =>
    Math.floor(at / lengthMs) >= Math.floor(now / lengthMs) - segments

/** Which charges each policy still counts. */
const ACCOUNTS: Readonly<Record<string, Account>> = {
  budget: { counts: inGrid(DAY) },
  rate: { counts: inWindow(MINUTE) },
  hourly: { counts: inGrid(3_600_000) },
  counter: { counts: inGrid(10_000, 6) },
  log: { counts: inWindow(3_600_000), mostLater: 512 },
  bucket: { counts: () => true, leaks: { units: 450, windowMs: MINUTE } },
}

/** Operations on so many tenants at once. */
const TENANTS = 20

const redis = sharedRedis()

describe.each([
  ['memory', 5_000, () => memory()],
  ['redis, built-in transport', 5_000, () => redis.store()],
] as const)('in %s, over %i random operations on each of 20 tenants', (_name, times, make) => {
  it('all reserved units are settled, returned or live, and each limit counts exactly those', async () => {
    const store = make()
    const tenants = Array.from({ length: TENANTS }, async (_, tenant) => {
      const clock = manualClock(START)
      const limiter = createLimiter({ store, policies, clock })
      const subject = { tenant: `t${tenant}` }
      const ledger = new Ledger(limiter, store, clock, subject, ACCOUNTS)
      const happening = operations(tenant + 1)
      for (let time = 0; time < times; time += 1) {
        await ledger.live(happening.next().value)
        if (time % 10 !== 0) continue
        const { books } = ledger
        expect(books.reserved).toBe(books.settled + books.returned + ledger.unsettled)
        const { policies: states } = await limiter.peek(subject, { cost: { token: 0 } })
        const left = new Map(states.map((state) => [state.name, state.remaining]))
        const now = clock()
        const today = ledger.chargedSince('budget', now - (now % DAY) - 1)
        expect(left.get('budget')).toBe(10 ** 9 - today)
        expect(left.get('rate')).toBe(Math.max(0, 400 - ledger.chargedSince('rate', now - MINUTE)))
        expect(left.get('log.second')).toBe(
          Math.max(0, 300 - ledger.chargedSince('log', now - 10_000)),
        )
        expect(left.get('log.hour')).toBe(
          Math.max(0, 20_000 - ledger.chargedSince('log', now - 3_600_000)),
        )
        const hour = now - (now % 3_600_000) - 1
        expect(left.get('hourly')).toBe(10 ** 6 - ledger.chargedSince('hourly', hour))
        // Whole segments that are fully in the window count in full.
        const segment = now - (now % 10_000) - 1
        const inFull = ledger.chargedSince('counter', segment - 50_000)
        expect(left.get('counter')).toBeLessThanOrEqual(Math.max(0, 500 - inFull))
        expect(left.get('bucket')).toBeLessThanOrEqual(
          Math.max(0, ledger.bucketLeft('bucket', 450 / MINUTE, 500, now)),
        )
      }
    })
    await Promise.all(tenants)
  }, 600_000)
})
