import type { Limiter } from '@sluice/core'
import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { Answer } from '../../support/answer.ts'
import { ACME } from '../../support/limiters.ts'
import { callsOf } from '../../support/watched-store.ts'
import { flood, isolates, planOf, plansOf, FRESH_MS, untilPlan } from './support.ts'

const TIMEOUT_MS = 60
/** The pause after a failure, in which no isolate looks up again. */
const BACK_OFF_MS = TIMEOUT_MS + 5_000

const fail = (): never => {
  throw new Error('the database of acme is gone')
}

const FAILURES: Record<string, { answer: () => unknown; code: string }> = {
  'throws at once': { answer: fail, code: 'plan_resolver_failed' },
  rejects: {
    answer: () => Promise.reject(new Error('the database of acme is gone')),
    code: 'plan_resolver_failed',
  },
  'never answers': { answer: () => new Promise(() => {}), code: 'plan_resolver_failed' },
  'returns undefined': { answer: () => undefined, code: 'plan_resolver_failed' },
  'returns null': { answer: () => null, code: 'plan_resolver_failed' },
  'returns a number': { answer: () => 3, code: 'plan_resolver_failed' },
  'returns an object': { answer: () => ({ plan: 'growth' }), code: 'plan_resolver_failed' },
  'returns NaN': { answer: () => Number.NaN, code: 'plan_resolver_failed' },
  'names no plan': { answer: () => 'ultra', code: 'unknown_plan' },
  'names nothing': { answer: () => '', code: 'unknown_plan' },
  'names a plan in other letters': { answer: () => 'Growth', code: 'unknown_plan' },
  'names constructor': { answer: () => 'constructor', code: 'unknown_plan' },
  'names __proto__': { answer: () => '__proto__', code: 'unknown_plan' },
}

describe.each(Object.entries(FAILURES))('a resolver that %s', (_, { answer, code }) => {
  it('leaves an unknown tenant with the default plan: neither 0 nor unlimited', async () => {
    const { limiters, database, problems } = isolates(1, memory(), { timeoutMs: TIMEOUT_MS })
    database.instead = answer
    const decisions = await flood(limiters)
    expect(plansOf(decisions)).toEqual(['starter by default'])
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2)
    expect(database.queries).toEqual(['acme'])
    expect(problems.map((problem) => problem.code)).toEqual([code])
  })

  it('leaves a tenant with the last known plan', async () => {
    const { limiters, clock, database, expire, isolate } = isolates(2, memory(), {
      timeoutMs: TIMEOUT_MS,
    })
    database.plans.set('acme', 'growth')
    await flood(limiters)
    await expire()
    clock.advance(FRESH_MS)
    database.instead = answer
    database.queries.length = 0
    await flood(limiters)
    await expect.poll(() => database.queries).toHaveLength(2)
    expect(plansOf(await flood([...limiters, isolate()]))).toEqual(['growth by stale'])
    // Even where it was told that the plan has changed.
    await invalidatePlan(limiters[0] as Limiter, 'acme')
    expect(planOf(await (limiters[0] as Limiter).check(ACME))).toBe('growth by stale')
    // By each of the three isolates, and once more where it was told.
    expect(database.queries).toHaveLength(4)
  })

  it('is asked again after a while by each isolate, not by every request', async () => {
    const { limiters, clock, database, expire, isolate } = isolates(3, memory(), {
      timeoutMs: TIMEOUT_MS,
    })
    database.instead = answer
    for (let round = 0; round < 3; round += 1) await flood(limiters)
    expect(database.queries).toHaveLength(3)
    await flood([isolate()])
    expect(database.queries).toHaveLength(4)
    await expire()
    clock.advance(BACK_OFF_MS - 1)
    await flood(limiters)
    expect(database.queries).toHaveLength(4)
    clock.advance(1)
    database.plans.set('acme', 'growth')
    database.instead = undefined
    await flood(limiters)
    for (const limiter of limiters) await untilPlan(limiter, 'growth')
    expect(database.queries.length).toBeLessThanOrEqual(4 + 3)
  })
})

it('an isolate that starts after a failure asks once itself, and writes nothing', async () => {
  const { limiters, store, database, isolate } = isolates(1, memory())
  database.instead = fail
  await flood(limiters)
  const calls = await callsOf(store, async () => {
    expect(planOf(await isolate().check(ACME))).toBe('starter by default')
  })
  expect(calls).toEqual({ decisions: 1, reads: 1, writes: 0, resets: 0 })
  expect(database.queries).toHaveLength(2)
})

describe('a resolver that hangs', () => {
  it('is abandoned at its timeout, and its signal aborts', async () => {
    const { limiters, database, problems } = isolates(1, memory(), { timeoutMs: TIMEOUT_MS })
    let aborted: AbortSignal | undefined
    database.instead = (_, signal) => {
      aborted = signal
      return new Promise(() => {})
    }
    const startedAt = performance.now()
    await flood(limiters)
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(TIMEOUT_MS - 1)
    await expect.poll(() => aborted?.aborted).toBe(true)
    expect(problems).toMatchObject([
      { code: 'plan_resolver_failed', message: `The plan resolver did not answer within 60 ms` },
    ])
  })

  it('affects nothing if it rejects later', async () => {
    const { limiters, database } = isolates(1, memory(), { timeoutMs: 5 })
    const answer = new Answer()
    database.instead = () => answer.promise
    await flood(limiters)
    answer.reject(new Error('too late'))
    // Vitest fails a run with an unhandled rejection.
    expect(planOf(await (limiters[0] as Limiter).check(ACME))).toBe('starter by default')
  })

  it('delays no isolate for longer than its timeout', async () => {
    const { limiters, database } = isolates(4, memory(), { timeoutMs: TIMEOUT_MS })
    database.instead = () => new Promise(() => {})
    const startedAt = performance.now()
    expect(plansOf(await flood(limiters))).toEqual(['starter by default'])
    // Far more than a busy machine adds: the answer never comes.
    expect(performance.now() - startedAt).toBeLessThan(TIMEOUT_MS + 20_000)
    expect(database.queries).toHaveLength(4)
  })
})

describe('a problem with a plan', () => {
  it('is reported once a minute, by its name and without the id of a tenant', async () => {
    const { limiters, clock, database, problems } = isolates(2, memory())
    for (let tenant = 0; tenant < 20; tenant += 1) {
      database.plans.set(`tenant-${tenant}`, tenant % 2 ? 'ultra' : 'mega')
      await flood(limiters.slice(0, 1), `tenant-${tenant}`)
    }
    expect(problems.map(({ message }) => message)).toEqual([
      'No plan is named "mega"; the last known or default plan applies',
      'No plan is named "ultra"; the last known or default plan applies',
    ])
    clock.advance(60_000)
    database.plans.set('late', 'ultra')
    await limiters[0]?.check({ tenant: 'late' })
    expect(problems).toHaveLength(3)
    expect(JSON.stringify(problems)).not.toMatch(/tenant-|late"/)
  })

  it('is reported for an unknown plan of a subject, and the resolver is called', async () => {
    const { limiters, database, problems } = isolates(1, memory())
    database.plans.set('acme', 'growth')
    const [limiter] = limiters as [Limiter]
    const subject = { ...ACME, plan: 'x'.repeat(1_000) }
    expect(planOf(await limiter.check(subject))).toBe('growth by resolver')
    expect(problems).toMatchObject([{ code: 'unknown_plan' }])
    expect(problems[0]?.message.length).toBeLessThan(150)
  })

  it('is reported at most ten times a minute, whatever names come in', async () => {
    const { limiters, clock, problems } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    const send = async (names: number): Promise<void> => {
      for (let name = 0; name < names; name += 1) {
        await limiter.check({ ...ACME, plan: `plan-${name}` })
      }
    }
    await send(300)
    expect(problems).toHaveLength(10)
    clock.advance(60_000)
    await send(1)
    expect(problems).toHaveLength(11)
  })

  it('does not silence a problem of another kind, however many names come in', async () => {
    const { limiters, database, problems } = isolates(1, memory(), { timeoutMs: TIMEOUT_MS })
    const [limiter] = limiters as [Limiter]
    for (let name = 0; name < 300; name += 1) {
      await limiter.check({ ...ACME, plan: `plan-${name}` })
    }
    // Of the same name, even: who says it is another matter.
    database.instead = () => 'plan-0'
    await limiter.check({ tenant: 'renamed' })
    database.instead = fail
    await limiter.check({ tenant: 'failing' })
    database.instead = () => undefined
    await limiter.check({ tenant: 'unanswered' })
    expect(problems.slice(10)).toMatchObject([
      { code: 'unknown_plan', source: 'resolver' },
      { code: 'plan_resolver_failed', message: 'The plan resolver threw' },
      { code: 'plan_resolver_failed', message: 'The plan resolver returned no name of a plan' },
    ])
    expect(problems.slice(0, 10).map(({ source }) => source)).toEqual(
      Array.from({ length: 10 }, () => 'subject'),
    )
  })

  it('is reported again after the clock was set back', async () => {
    const { limiters, clock, problems } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    await limiter.check({ ...ACME, plan: 'ultra' })
    clock.advance(-3_600_000)
    await limiter.check({ ...ACME, plan: 'ultra' })
    expect(problems).toHaveLength(2)
  })
})
