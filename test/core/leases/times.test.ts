import { createLimiter, slidingWindow, type Decision, type Limiter, type Store } from '@sluice/core'
import { lease, leased, reserveFromLeases } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { placeLeases } from '@sluice/core/place-leases'
import { regional } from '@sluice/core/regional'
import { reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { SharedStore } from './support.ts'

const everyone = lease(
  slidingWindow({ name: 'everyone', limit: 1_000, window: '1m', per: 'global' }),
)

/** Stores that lease, over one whose replies can be held. */
const LEASING: Record<string, (home: Store) => Store> = {
  'leased(store)': (home) => leased(home, { reservations: reserveFromLeases }),
  'a region over home': (home) => regional({ home, here: memory() }),
  'several stores': (home) => sharded({ only: home }, { leases: placeLeases }),
}

/** Decisions that a lease can serve. */
const CALLS: Record<string, (limiter: Limiter) => Promise<Decision>> = {
  check: (limiter) => limiter.check(ACME),
  reserve: (limiter) => reserve(limiter, ACME, { cost: 1, settleWithin: '20s' }),
}

describe.each(Object.entries(LEASING))('in %s', (...[, makeStore]) => {
  it.each(Object.entries(CALLS))(
    'a decision that waited for a block has the time at which a lease served it: %s',
    async (...[, decide]) => {
      const home = new SharedStore()
      const limiter = createLimiter({ store: makeStore(home), policies: [everyone] })
      const resume = home.holdReplies()
      const deciding = Array.from({ length: 8 }, () => decide(limiter))
      const asked = Date.now()
      while (Date.now() < asked + 3) await setImmediate()
      const replied = Date.now()
      resume()
      const decisions = await Promise.all(deciding)
      const served = decisions.filter(({ source }) => source === 'lease')
      expect(decisions.every(({ allowed, degraded }) => allowed && !degraded)).toBe(true)
      expect(served.length).toBeGreaterThan(0)
      expect(served.filter(({ at }) => at < replied)).toEqual([])
    },
  )
})
