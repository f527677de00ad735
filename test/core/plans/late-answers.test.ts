import type { Limiter } from '@sluice/core'
import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { Answer } from '../../support/answer.ts'
import { ACME } from '../../support/limiters.ts'
import { callsOf } from '../../support/watched-store.ts'
import { isolates, planOf, FRESH_MS, untilPlan, type Isolates } from './support.ts'

/** Begins a peek whose answer the store has made and does not deliver yet. */
async function peekSlowly({ store }: Isolates, limiter: Limiter) {
  const arrival = new Answer<void>()
  const made = new Answer<void>()
  const check = store.check.bind(store)
  const once = vi.spyOn(store, 'check').mockImplementationOnce(async (request) => {
    const reply = await check(request)
    made.resolve()
    await arrival.promise
    return reply
  })
  const decision = limiter.peek(ACME)
  await made.promise
  once.mockRestore()
  return {
    arrive: () => {
      arrival.resolve()
      return decision
    },
  }
}

describe('a reply that arrives after that to a later request', () => {
  it('does not restore the plan that it contains', async () => {
    const app = isolates(2, memory())
    const { limiters, clock, database } = app
    const [limiter, other] = limiters as [Limiter, Limiter]
    await limiter.peek(ACME)
    clock.advance(FRESH_MS)
    const slow = await peekSlowly(app, limiter)
    clock.advance(1_000)
    database.plans.set('acme', 'growth')
    await invalidatePlan(other, 'acme')
    await other.peek(ACME)
    await limiter.peek(ACME)
    expect(planOf(await limiter.peek(ACME))).toBe('growth by resolver')
    await slow.arrive()
    expect(planOf(await limiter.peek(ACME))).toBe('growth by resolver')
  })

  it('does not cause another look-up if it contains no plan', async () => {
    const app = isolates(1, memory())
    const { limiters, clock, database, store, expire } = app
    const [limiter] = limiters as [Limiter]
    await limiter.peek(ACME)
    await expire()
    clock.advance(FRESH_MS)
    const slow = await peekSlowly(app, limiter)
    const late: Promise<unknown>[] = []
    await limiter.peek(ACME, { waitUntil: (promise) => void late.push(promise) })
    await Promise.all(late)
    expect(database.queries).toHaveLength(2)
    await slow.arrive()
    const calls = await callsOf(store, async () => {
      expect(planOf(await limiter.peek(ACME))).toBe('starter by resolver')
    })
    expect(calls).toEqual({ decisions: 1, reads: 0, writes: 0, resets: 0 })
    expect(database.queries).toHaveLength(2)
  })
})

describe('when the clock is set back by an hour', () => {
  const HOUR_MS = 3_600_000

  it('no plan is used without a read for longer than 5 s', async () => {
    const { limiters, clock, database } = isolates(2, memory())
    const [limiter, other] = limiters as [Limiter, Limiter]
    await limiter.peek(ACME)
    clock.advance(-HOUR_MS)
    database.plans.set('acme', 'growth')
    await invalidatePlan(other, 'acme')
    await other.peek(ACME)
    await limiter.peek(ACME)
    expect(planOf(await limiter.peek(ACME))).toBe('growth by resolver')
  })

  it('an expired plan is looked up, and an earlier read does not last for an hour', async () => {
    const { limiters, clock, database, store, expire } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    await limiter.peek(ACME)
    await expire()
    clock.advance(-HOUR_MS)
    database.plans.set('acme', 'growth')
    await limiter.peek(ACME)
    await untilPlan(limiter, 'growth')
    expect(database.queries).toHaveLength(2)
    const reads = vi.spyOn(store, 'check')
    await limiter.peek(ACME)
    expect(reads.mock.lastCall?.[0].reads).toEqual([])
  })

  it('the resolver is called again after a failure as soon as usual', async () => {
    const { limiters, clock, database, expire } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    database.instead = () => undefined
    await limiter.peek(ACME)
    await expire()
    clock.advance(-HOUR_MS)
    database.instead = () => 'growth'
    await limiter.peek(ACME)
    await untilPlan(limiter, 'growth')
    expect(database.queries).toHaveLength(2)
  })
})
