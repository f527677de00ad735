import {
  definePlans,
  type Limiter,
  type LimiterOptions,
  type Plans,
  type Store,
} from '@sluice/core'
import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { callsOf } from '../../support/watched-store.ts'
import { flood, isolates, planOf, plansOf, untilPlan, type Isolates } from './support.ts'

/** The time for which an isolate replaces no plan again: a look-up may take 30 s here. */
const BACK_OFF_MS = 35_000
const before = definePlans({ starter: { rpm: 2 }, gold: { rpm: 200 } })
const after = definePlans({ starter: { rpm: 2 }, professional: { rpm: 200 } })
const version = (plans: Plans): Partial<LimiterOptions> => ({ plans })

/** Isolates of the version before and after a deployment that renames a plan, over one store. */
async function deployed(count: number, inner: Store): Promise<{ old: Isolates; now: Isolates }> {
  const old = isolates(1, inner, {}, version(before))
  old.database.plans.set('acme', 'gold')
  const now = isolates(count, inner, {}, version(after))
  now.database.plans.set('acme', 'professional')
  expect(plansOf(await flood(old.limiters))).toEqual(['gold by resolver'])
  return { old, now }
}

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it('a plan that a deployment has renamed is looked up at once, and then found in the store', async () => {
    const { now } = await deployed(4, make())
    expect(plansOf(await flood(now.limiters))).toEqual(['professional by resolver'])
    expect(now.database.queries.length).toBeLessThanOrEqual(4)
    now.database.queries.length = 0
    expect(plansOf(await flood([now.isolate()]))).toEqual(['professional by resolver'])
    expect(now.database.queries).toEqual([])
  })
})

it('an isolate that has the new name of a plan goes on with it, and replaces the old one', async () => {
  const { old, now } = await deployed(1, memory())
  const [limiter] = now.limiters as [Limiter]
  await limiter.check(ACME)
  await invalidatePlan(old.limiters[0] as Limiter, 'acme')
  await old.limiters[0]?.check(ACME)
  now.clock.advance(BACK_OFF_MS)
  expect((await limiter.peek(ACME)).plan).toBe('professional')
  await expect.poll(() => now.database.queries).toHaveLength(2)
  await untilPlan(limiter, 'professional')
  expect(planOf(await now.isolate().check(ACME))).toBe('professional by resolver')
})

it('two versions that replace each other’s plans ask every 5 seconds at most', async () => {
  const { old, now } = await deployed(1, memory())
  const limiters = [old.limiters[0], now.limiters[0]] as [Limiter, Limiter]
  for (let second = 0; second < 60; second += 1) {
    for (const [index, limiter] of limiters.entries()) {
      expect((await limiter.check(ACME)).plan).toBe(index === 0 ? 'gold' : 'professional')
      expect((await limiter.check(ACME)).plan).toBe(index === 0 ? 'gold' : 'professional')
    }
    old.clock.advance(1_000)
    now.clock.advance(1_000)
  }
  expect(now.database.queries.length).toBeLessThanOrEqual(60 / 5)
  expect(old.database.queries.length).toBeLessThanOrEqual(1 + 60 / 5)
})

it('a resolver that still returns the old name leaves the default plan, and is not called by each request', async () => {
  const { now } = await deployed(2, memory())
  now.database.plans.set('acme', 'gold')
  for (let round = 0; round < 3; round += 1) {
    expect(plansOf(await flood(now.limiters))).toEqual(['starter by default'])
  }
  const calls = await callsOf(now.store, async () => {
    expect(planOf(await now.isolate().check(ACME))).toBe('starter by default')
  })
  expect(calls).toEqual({ decisions: 1, reads: 1, writes: 0, resets: 0 })
  // By each isolate once.
  expect(now.database.queries).toHaveLength(3)
})
