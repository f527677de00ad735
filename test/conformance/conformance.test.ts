import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLimiter, slidingWindow, type Store } from '@sluice/core'
import { STORES, type StoreMaker, type StoreName } from '../support/stores.ts'
import { buckets } from './cases/buckets.ts'
import { logs } from './cases/logs.ts'
import { partitions } from './cases/partitions.ts'
import { severalPolicies } from './cases/policies.ts'
import { windows } from './cases/windows.ts'

const REPETITIONS = 100
const FEWER: Partial<Record<StoreName, number>> = { 'embedded engine, built-in transport': 20 }

describe.each(Object.keys(STORES) as StoreName[])('%s', (name) => {
  let maker: StoreMaker
  beforeAll(async () => {
    maker = await STORES[name]()
  })
  afterAll(() => maker.close())

  const make = (): Store => maker.make()
  windows(make)
  severalPolicies(make)
  partitions(make)
  buckets(make)
  logs(make)

  const repetitions = FEWER[name] ?? REPETITIONS
  it(`of 25 concurrent checks at limit 20, exactly 5 are denied, ${repetitions} times`, async () => {
    const rpm = slidingWindow({ name: 'rpm', limit: 20, window: '1h', per: ['tenant'] })
    const limiter = createLimiter({ store: maker.make(), policies: [rpm] })
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      const subject = { tenant: `t${repetition}` }
      const decisions = await Promise.all(Array.from({ length: 25 }, () => limiter.check(subject)))
      expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
      expect(decisions.filter(({ allowed }) => !allowed)).toHaveLength(5)
      const left = decisions
        .filter(({ allowed }) => allowed)
        .map(({ policies }) => policies[0]?.remaining)
      expect(left.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(
        Array.from({ length: 20 }, (_, n) => n),
      )
    }
  })
})
