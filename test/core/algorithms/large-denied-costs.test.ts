import {
  createLimiter,
  manualClock,
  slidingWindow,
  slidingWindows,
  type Policy,
} from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { storesOf, type StoreName } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'

const GAP_MS = 7
const WINDOW_MS = 60_000
const tenant = 'acme'

/** The units of each allowed request, the oldest first. */
const UNITS: Readonly<Record<string, readonly number[]>> = {
  'of one unit each': Array.from({ length: 90 }, () => 1),
  'of which the last has two': Array.from({ length: 90 }, (_, at) => (at === 89 ? 2 : 1)),
  'of which the 18th has nine': Array.from({ length: 90 }, (_, at) => (at === 17 ? 9 : 1)),
  'of which the first has nine': Array.from({ length: 90 }, (_, at) => (at === 0 ? 9 : 1)),
  'of one to three units': Array.from({ length: 90 }, (_, at) => 1 + (at % 3)),
  'of which the last has a hundred thousand million': Array.from({ length: 40 }, (_, at) =>
    at === 39 ? 100_000_000_000 : 1,
  ),
}

const POLICIES: Readonly<Record<string, (limit: number) => Policy>> = {
  slidingWindow: (limit) => slidingWindow({ name: 'p', limit, window: '1m', per: ['tenant'] }),
  slidingWindows: (limit) => {
    const day = 3 * limit
    const windows = { minute: { limit, window: '1m' }, day: { limit: day, window: '1d' } } as const
    return slidingWindows({ name: 'p', windows, per: ['tenant'] })
  },
}

/** Independently of all algorithms: the time at which so many units of the log have left the window. */
function freedAt(units: readonly number[], excess: number): number {
  let freed = 0
  const at = units.findIndex((one) => (freed += one) >= excess)
  return NOON + at * GAP_MS + WINDOW_MS
}

const STORES: readonly StoreName[] = [
  'memory',
  'redis, ioredis client',
  'redis, decisions of one moment in one script call',
  'embedded engine, built-in transport',
  'durable objects, in this process',
]

describe.each(STORES)('a large cost that a full window denies: %s', (store) => {
  const makeStore = storesOf(store)

  describe.each(Object.keys(POLICIES))('%s', (kind) => {
    it.each(Object.keys(UNITS))(
      'among requests %s, fits at its retry time and not a millisecond before',
      async (name) => {
        const units = UNITS[name] as readonly number[]
        const limit = units.reduce((sum, one) => sum + one, 0)
        const clock = manualClock(NOON)
        const policies = [POLICIES[kind]!(limit)]
        const limiter = createLimiter({ store: makeStore(), clock, policies })
        for (const cost of units) {
          await limiter.check({ tenant }, { cost })
          clock.advance(GAP_MS)
        }
        const filledAt = clock()
        for (const cost of [1, 15, 16, 17, 18, 30, 39, 63, 64, 65, 89, 90, limit]) {
          if (cost > limit) continue
          clock.set(filledAt)
          const denied = await limiter.check({ tenant }, { cost })
          expect(denied.allowed).toBe(false)
          const retryAt = filledAt + (denied.retryAfterMs ?? Infinity)
          expect(retryAt).toBe(freedAt(units, cost))
          clock.set(retryAt - 1)
          expect((await limiter.peek({ tenant }, { cost })).allowed).toBe(false)
          clock.set(retryAt)
          expect((await limiter.peek({ tenant }, { cost })).allowed).toBe(true)
        }
      },
    )
  })
})
