import type { Limiter } from '@sluice/core'
import { invalidatePlan } from '@sluice/core/plans'
import { describe, expect, it } from 'vitest'
import { Answer } from '../../support/answer.ts'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { flood, isolates, planOf, plansOf, FRESH_MS, untilPlan } from './support.ts'

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  describe('a throttled tenant that buys a larger plan', () => {
    it('gets it at once in the isolate of the invalidation, and within 5 s in all others, under load', async () => {
      const { limiters, clock, database, problems } = isolates(4, make())
      const [invalidator, ...others] = limiters as [Limiter, ...Limiter[]]
      const first = await flood(limiters)
      expect(first.filter(({ allowed }) => allowed)).toHaveLength(2)
      expect(database.queries.length).toBeLessThanOrEqual(limiters.length)
      database.queries.length = 0

      database.plans.set('acme', 'growth')
      const meanwhile = flood(limiters)
      await invalidatePlan(invalidator, 'acme')
      expect(await invalidator.check(ACME)).toMatchObject({ allowed: true, plan: 'growth' })
      expect(plansOf(await meanwhile)).not.toContain('starter by default')

      clock.advance(FRESH_MS)
      // 64 in flight that began at the fifth second: not one of them is denied any more.
      const last = await flood(others)
      expect(last.filter(({ allowed }) => !allowed)).toEqual([])
      expect(plansOf(last)).toEqual(['growth by resolver'])
      expect(database.queries).toEqual(['acme'])
      expect(problems).toEqual([])
    })

    it('keeps the old plan in another isolate for 5 s, and not for longer', async () => {
      const { limiters, clock, database } = isolates(2, make())
      const [invalidator, other] = limiters as [Limiter, Limiter]
      await flood(limiters)
      database.plans.set('acme', 'growth')
      await invalidatePlan(invalidator, 'acme')
      await invalidator.check(ACME)
      clock.advance(FRESH_MS - 1)
      expect(await other.check(ACME)).toMatchObject({ allowed: false, plan: 'starter' })
      clock.advance(1)
      expect(await other.check(ACME)).toMatchObject({ allowed: true, plan: 'growth' })
    })

    it('gets it without an invalidation once the cached plan has expired', async () => {
      const { limiters, clock, database, expire } = isolates(4, make())
      await flood(limiters)
      database.plans.set('acme', 'growth')
      await expire()
      clock.advance(FRESH_MS)
      // Nobody waits for the look-up: the last known plan applies meanwhile.
      expect(new Set((await flood(limiters)).map(({ plan }) => plan))).not.toContain(undefined)
      for (const limiter of limiters) await untilPlan(limiter, 'growth')
      expect((await flood(limiters)).filter(({ allowed }) => !allowed)).toEqual([])
      expect(database.queries.length).toBeLessThanOrEqual(2 * limiters.length)
    })
  })

  it('64 first requests at once in four isolates ask the database once an isolate', async () => {
    const { limiters, database } = isolates(4, make())
    database.plans.set('acme', 'growth')
    expect(plansOf(await flood(limiters))).toEqual(['growth by resolver'])
    expect(database.queries.length).toBeLessThanOrEqual(4)
  })

  it('an isolate that starts later finds the plan in the store', async () => {
    const { limiters, isolate, database } = isolates(1, make())
    database.plans.set('acme', 'enterprise')
    await flood(limiters)
    expect(plansOf(await flood([isolate(), isolate()]))).toEqual(['enterprise by resolver'])
    expect(database.queries).toEqual(['acme'])
  })

  it('an isolate that starts when the cached plan has expired goes on with the last known one', async () => {
    const { limiters, isolate, database, expire } = isolates(1, make())
    await flood(limiters)
    const answer = new Answer()
    database.instead = () => answer.promise
    await expire()
    const late = isolate()
    expect(planOf(await late.peek(ACME))).toBe('starter by stale')
    answer.resolve('growth')
    await untilPlan(late, 'growth')
    expect(planOf(await late.peek(ACME))).toBe('growth by resolver')
    expect(database.queries).toEqual(['acme', 'acme'])
  })

  it('an isolate that starts after an invalidation waits for the new plan', async () => {
    const { limiters, isolate, database } = isolates(1, make())
    await flood(limiters)
    database.plans.set('acme', 'growth')
    await invalidatePlan(limiters[0] as Limiter, 'acme')
    expect(planOf(await isolate().check(ACME))).toBe('growth by resolver')
    expect(planOf(await (limiters[0] as Limiter).check(ACME))).toBe('growth by resolver')
    expect(database.queries).toEqual(['acme', 'acme'])
  })

  it('a downgrade takes effect in the same time', async () => {
    const { limiters, clock, database } = isolates(2, make())
    const [invalidator, other] = limiters as [Limiter, Limiter]
    database.plans.set('acme', 'growth')
    await flood(limiters)
    database.plans.set('acme', 'starter')
    await invalidatePlan(invalidator, 'acme')
    expect(await invalidator.check(ACME)).toMatchObject({ allowed: false, plan: 'starter' })
    clock.advance(FRESH_MS)
    // A record read along with a decision that allows takes effect with the next one.
    await other.check(ACME)
    expect(await other.check(ACME)).toMatchObject({ allowed: false, plan: 'starter' })
  })

  describe('an invalidation while the plan is being looked up', () => {
    it('discards the answer, in the background', async () => {
      const { limiters, clock, database, expire } = isolates(2, make())
      const [slow, invalidator] = limiters as [Limiter, Limiter]
      await flood(limiters)
      database.queries.length = 0
      await expire()
      clock.advance(FRESH_MS)
      const answer = new Answer()
      database.instead = () => answer.promise
      const late: Promise<unknown>[] = []
      await slow.peek(ACME, { waitUntil: (promise) => void late.push(promise) })
      await expect.poll(() => database.queries).toHaveLength(1)

      database.instead = undefined
      database.plans.set('acme', 'growth')
      await invalidatePlan(invalidator, 'acme')
      answer.resolve('starter')
      await Promise.all(late)
      expect(late).toHaveLength(1)
      expect((await invalidator.check(ACME)).plan).toBe('growth')
      await untilPlan(slow, 'growth')
      expect(database.queries).toHaveLength(2)
    })

    it('discards the answer for the first request, which waits for the new one', async () => {
      const { limiters, database } = isolates(2, make())
      const [slow, invalidator] = limiters as [Limiter, Limiter]
      const answer = new Answer()
      database.instead = () => answer.promise
      const first = slow.check(ACME)
      await expect.poll(() => database.queries).toHaveLength(1)
      database.instead = undefined
      database.plans.set('acme', 'growth')
      await invalidatePlan(invalidator, 'acme')
      answer.resolve('starter')
      expect((await first).plan).toBe('growth')
      expect((await invalidator.check(ACME)).plan).toBe('growth')
      expect(database.queries).toHaveLength(2)
    })
  })

  it('an invalidation of one tenant affects no other, whatever their ids', async () => {
    const { limiters, clock, database } = isolates(2, make())
    const [invalidator, other] = limiters as [Limiter, Limiter]
    const ids = ['org', 'org1', 'org1:plan', 'org1*', '*', 'org10', '%', 'org%31', 'constructor']
    for (const tenant of ids) {
      database.plans.set(tenant, 'growth')
      await invalidator.check({ tenant })
    }
    for (const tenant of ids) database.plans.set(tenant, 'enterprise')
    database.queries.length = 0
    await invalidatePlan(invalidator, 'org1')
    await invalidatePlan(invalidator, '*')
    clock.advance(FRESH_MS)
    for (const tenant of ids) {
      const isTold = tenant === 'org1' || tenant === '*'
      const plan = isTold ? 'enterprise' : 'growth'
      expect([tenant, (await invalidator.check({ tenant })).plan]).toEqual([tenant, plan])
      expect([tenant, (await other.check({ tenant })).plan]).toEqual([tenant, plan])
    }
    expect(database.queries).toEqual(['org1', '*'])
  })
})
