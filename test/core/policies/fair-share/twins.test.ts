import { slidingWindow, type Policy } from '@sluice/core'
import { fairShare } from '@sluice/core/fair-share'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../../support/running-redis.ts'
import { answersOf, type Step } from './history.ts'

const shared = sharedRedis()

const step: fc.Arbitrary<Step> = fc.record({
  ms: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(9_000), fc.nat(200_000)),
  tenant: fc.nat(5),
  call: fc.constantFrom('check', 'reserve', 'peek'),
  cost: fc.oneof(fc.nat(3), fc.nat(40)),
  used: fc.nat(60),
  open: fc.nat(6),
})

/** The answers of a store in memory and of Redis to the same history. */
const twins = (policy: () => Policy, steps: readonly Step[]) =>
  Promise.all([memory(), shared.store()].map((store) => answersOf(store, [policy()], steps)))

describe('shares in memory and in Redis', () => {
  it('are the same after any history', { timeout: 120_000 }, async () => {
    const histories = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 120 }),
      fc.integer({ min: 1, max: 120 }),
      fc.constantFrom(0, 3, 40),
      async (steps, limit, guarantee) => {
        const window = { name: 'p', limit, window: '1m', per: 'global', unit: 'token' } as const
        const policy = () =>
          fairShare(slidingWindow(window), {
            between: ['tenant'],
            weight: ({ route }) => (route === 'r1' ? 3 : 1),
            guarantee: ({ route }) => (route === 'r2' ? Math.min(guarantee, limit) : 0),
          })
        const [here, there] = await twins(policy, steps)
        expect(there).toEqual(here)
      },
    )
    await fc.assert(histories, { numRuns: 120 })
  })

  it('are the same with more tenants than they know', { timeout: 120_000 }, async () => {
    const window = { name: 'p', limit: 3_000, window: '1m', per: 'global', unit: 'token' } as const
    const policy = () => fairShare(slidingWindow(window), { between: ['tenant'] })
    // Each of 1,400 tenants in the first slots, the first ones again later, and some settlements of those that were dropped.
    const steps = Array.from({ length: 4_000 }, (_, at): Step => {
      const tenant = at < 1_500 ? at : (at * 7) % 1_450
      const call = at % 5 === 0 ? 'reserve' : 'check'
      return {
        ms: at % 40 === 0 ? 600 : 1,
        tenant,
        call,
        cost: 1 + (at % 3),
        used: at % 5,
        open: 90,
      }
    })
    const [here, there] = await twins(policy, steps)
    expect(there).toEqual(here)
    expect(JSON.stringify(here)).toContain('"fits":false')
  })
})
