import type { Limiter } from '@sluice/core'
import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { callsOf } from '../../support/watched-store.ts'
import { flood, isolates, planOf, plansOf, FRESH_MS } from './support.ts'

const fail = (): never => {
  throw new Error('the database of acme is gone')
}

describe('while the store is down', () => {
  it('an isolate without a plan calls the resolver once, and that plan applies', async () => {
    const { limiters, store, database, clock } = isolates(1, memory())
    database.plans.set('acme', 'growth')
    store.isDown = true
    const decisions = await flood(limiters)
    expect(plansOf(decisions)).toEqual(['growth by resolver'])
    expect(decisions.every(({ degraded }) => degraded?.mode === 'local')).toBe(true)
    expect(database.queries).toEqual(['acme'])
    clock.advance(4 * 60_000)
    await flood(limiters)
    expect(database.queries).toEqual(['acme'])
    clock.advance(60_000)
    database.plans.set('acme', 'enterprise')
    expect(plansOf(await flood(limiters))).toEqual(['enterprise by resolver'])
    expect(database.queries).toEqual(['acme', 'acme'])
  })

  it('the request that discovers it calls the store once, not for the plan and for the counts', async () => {
    const { limiters, store } = isolates(1, memory())
    store.isDown = true
    const calls = await callsOf(store, () => (limiters[0] as Limiter).check(ACME))
    expect(calls).toEqual({ decisions: 0, reads: 1, writes: 0, resets: 0 })
  })

  it('an isolate that has the plan goes on with it', async () => {
    const { limiters, store, database, clock } = isolates(1, memory())
    database.plans.set('acme', 'growth')
    await flood(limiters)
    store.isDown = true
    clock.advance(60_000)
    expect(plansOf(await flood(limiters))).toEqual(['growth by resolver'])
    expect(database.queries).toEqual(['acme'])
  })

  it('a resolver that fails as well leaves the default plan, and is not called by each request', async () => {
    const { limiters, store, database, clock } = isolates(1, memory())
    store.isDown = true
    database.instead = fail
    expect(plansOf(await flood(limiters))).toEqual(['starter by default'])
    expect(plansOf(await flood(limiters))).toEqual(['starter by default'])
    expect(database.queries).toHaveLength(1)
    clock.advance(35_000)
    database.instead = undefined
    database.plans.set('acme', 'growth')
    expect(plansOf(await flood(limiters))).toEqual(['growth by resolver'])
  })

  it('the answer of the resolver is stored when the store is back', async () => {
    const { limiters, store, database, clock, isolate } = isolates(1, memory())
    database.plans.set('acme', 'growth')
    store.isDown = true
    await flood(limiters)
    store.isDown = false
    clock.advance(FRESH_MS)
    await flood(limiters)
    await expect.poll(() => database.queries).toHaveLength(2)
    await flood(limiters)
    expect(planOf(await isolate().check(ACME))).toBe('growth by resolver')
    expect(database.queries).toHaveLength(2)
  })

  it('a store that fails between the claim and the answer loses no plan', async () => {
    const { limiters, store, database } = isolates(1, memory())
    database.instead = () => {
      store.isDown = true
      return 'growth'
    }
    expect(plansOf(await flood(limiters))).toEqual(['growth by resolver'])
    expect(database.queries).toHaveLength(1)
  })

  it('an invalidation throws, and applies in this isolate', async () => {
    const { limiters, store, database } = isolates(1, memory())
    await flood(limiters)
    store.isDown = true
    database.plans.set('acme', 'growth')
    await expect(invalidatePlan(limiters[0] as Limiter, 'acme')).rejects.toMatchObject({
      name: 'StoreError',
      code: 'store_unreachable',
    })
    expect(plansOf(await flood(limiters))).toEqual(['growth by resolver'])
  })
})
