import { createLimiter, manualClock, type Store } from '@sluice/core'
import { balance, credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'

const redis = sharedRedis()
const STORES: Record<string, () => Store> = { memory: () => memory(), redis: () => redis.store() }

describe.each(Object.entries(STORES))('a policy of credits that is renamed, in %s', (_, make) => {
  it('keeps its balance, and settles the reservations of its old name', async () => {
    const store = make()
    const clock = manualClock(NOON)
    const named = (name: string) =>
      createLimiter({
        store,
        clock,
        onStoreError: 'deny',
        policies: [credits({ name, per: ['tenant'], unit: 'credit', unsettled: 'keep' })],
      })
    const [before, after] = [named('credits'), named('money')]
    await grant(before, ACME, { amount: 100, id: 'g1', at: NOON, kind: 'paid' })
    const call = await reserve(before, ACME, { cost: { credit: 40 } })
    expect(await balance(after, ACME)).toMatchObject({ available: 60, held: 40 })
    const settled = await reservation(after, JSON.stringify(call)).settle({ credit: 15 })
    expect(settled).toMatchObject({ applied: true, returned: { credit: 25 } })
    expect(await balance(after, ACME)).toMatchObject({ available: 85, held: 0 })
  })
})
