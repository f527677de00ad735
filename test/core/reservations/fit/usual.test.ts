import { dailyCap, type Policy } from '@sluice/core'
import { reserve, fitRange } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../../support/limiters.ts'
import { storesOf } from '../../../support/stores.ts'
import { PER_TOKEN, take, tokensPerDay } from './support.ts'

const STORES = [
  'memory',
  'file',
  'redis, built-in transport',
  'durable objects, in this process',
] as const

describe.each(STORES)('in %s, a usual quantity', (name) => {
  const make = storesOf(name)

  /** The grants of 10 to 1,000, usually 100, while none is settled. */
  async function grantsOf(...policies: Policy[]): Promise<number[]> {
    const { limiter } = setUp(policies, { store: make() })
    const grants: number[] = []
    for (;;) {
      const decision = await take(limiter, { most: 1_000, usual: 100 }, 0)
      if (!decision.allowed) return grants
      grants.push(decision.granted)
    }
  }

  it('is exceeded up to a quarter of what is left, and never above the most', async () => {
    expect(await grantsOf(tokensPerDay(8_000))).toEqual([
      1_000, 1_000, 1_000, 1_000, 1_000, 750, 562, 422, 316, 237, 178, 133, 100, 100, 100, 100,
    ])
    expect(await grantsOf(tokensPerDay(401))).toEqual([100, 100, 100, 100])
  })

  it('is cut to what is left, down to the floor', async () => {
    expect(await grantsOf(tokensPerDay(130))).toEqual([100, 30])
    expect(await grantsOf(tokensPerDay(109))).toEqual([100])
  })

  it('is bounded by the tightest policy', async () => {
    const other = dailyCap({ name: 'other', limit: 520, per: 'global', unit: 'token' })
    expect(await grantsOf(tokensPerDay(10_000), other)).toEqual([130, 100, 100, 100, 90])
  })

  it('is exceeded up to a quarter of a share of the limit', async () => {
    const { limiter } = setUp([tokensPerDay(8_000)], { store: make() })
    const fit = fitRange({ floor: 10, usual: 100, most: 8_000, rates: PER_TOKEN })
    expect(await reserve(limiter, ACME, { cost: { token: 0 }, fit, maxShare: 0.5 })).toMatchObject({
      granted: 1_000,
    })
  })
})

it('must be from the floor to the most', () => {
  for (const usual of [9, 101, 0, 1.5]) {
    expect(() => fitRange({ floor: 10, most: 100, usual, rates: PER_TOKEN })).toThrow('usual')
  }
})
