import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { storesOf } from '../../support/stores.ts'

const STORES = [
  'memory',
  'redis, built-in transport',
  'embedded engine, built-in transport',
] as const

/** Milliseconds until it is settled: at once, within the minute, after it, and after two windows. */
const WAITS = [0, 30_000, 61_000, 150_000]

describe.each(STORES)('in %s, a settlement that is repeated', (name) => {
  const make = storesOf(name)

  it.each(KIND_NAMES)('reports what the first one did: %s', async (kind) => {
    const isCall = kind === 'calls in flight'
    for (const wait of WAITS) {
      for (const used of [0, 4, 10, 15]) {
        const { limiter, clock } = setUp([KINDS[kind]('p', 20)], { store: make() })
        const call = await reserve(limiter, ACME, isCall ? {} : { cost: 10 })
        if (!call.allowed) throw new Error('It fits')
        clock.advance(wait)
        const actual = isCall ? { request: 1 } : { request: used }
        const { applied, returned, overrun } = await call.settle(actual)
        expect(applied).toBe(true)
        const again = await call.settle({ request: isCall ? 1 : 20 - used })
        expect(again, `${used} of 10 after ${wait} ms`).toEqual({
          applied: false,
          why: 'settled_before',
          returned,
          overrun,
        })
      }
    }
  })
})
