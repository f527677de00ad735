import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { fixedWindow, type Limiter } from '@sluice/core'
import { describe, expect, it, vi } from 'vitest'
import { ownRedis } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { callsOf } from '../support/watched-store.ts'
import { flood, isolates, NOON, planOf, RELY_MS, type Isolates } from './support.ts'

const ACME = { tenant: 'acme' }

/** As `ctx.waitUntil` is when it is passed without its `ctx`. */
const unbound = (): never => {
  throw new TypeError('Illegal invocation')
}

describe('over Redis', () => {
  // Commands are counted, so it is shared with nobody.
  const own = ownRedis()

  /** One isolate over Redis with its scripts loaded, and what an act costs. */
  async function setUp(): Promise<Isolates & { prefix: string; cost: typeof costOf }> {
    const prefix = freshPrefix()
    const store = own.store(prefix)
    await isolates(1, store).limiters[0]?.check({ tenant: 'loads the scripts' })
    return { ...isolates(1, store), prefix, cost: costOf }
  }

  async function costOf(act: () => Promise<unknown>) {
    const before = own.local.requests
    const { calls } = await own.meter.measure(act)
    const { evalsha, hget, ...other } = Object.fromEntries(calls)
    return { requests: own.local.requests - before, evalsha, hget: hget ?? 0, other }
  }

  const spent = { get: 1, set: 1 }

  it('a decision is one HTTP request and no command more, for 5 s at a time', async () => {
    const { limiters, clock, cost } = await setUp()
    const check = () => (limiters[0] as Limiter).check(ACME)
    await check()
    expect(await cost(check)).toEqual({ requests: 1, evalsha: 1, hget: 0, other: spent })
    clock.advance(RELY_MS)
    // The plan is read along, by one command more.
    expect(await cost(check)).toEqual({ requests: 1, evalsha: 1, hget: 1, other: { get: 1 } })
    expect(await cost(check)).toEqual({ requests: 1, evalsha: 1, hget: 0, other: { get: 1 } })
  })

  it('a plan that has changed costs one more request, of what it would have denied', async () => {
    const { limiters, isolate, clock, database, cost } = await setUp()
    const [limiter] = limiters as [Limiter]
    const other = isolate()
    await flood(limiters)
    database.plans.set('acme', 'growth')
    await invalidatePlan(other, 'acme')
    await other.check(ACME)
    clock.advance(RELY_MS)
    expect(await cost(() => limiter.check(ACME))).toMatchObject({ requests: 2, hget: 1 })
    expect(await cost(() => limiter.check(ACME))).toMatchObject({ requests: 1, hget: 0 })
  })

  it('the first request of an isolate costs one more, the first ever of a tenant two', async () => {
    const { limiters, isolate, cost } = await setUp()
    const first = await cost(() => (limiters[0] as Limiter).check(ACME))
    // Read the plan, save what the resolver says, decide.
    expect(first).toMatchObject({ requests: 3, evalsha: 3 })
    const second = await cost(() => isolate().check(ACME))
    expect(second).toMatchObject({ requests: 2, evalsha: 2, hget: 2 })
  })

  it('an expired plan costs the request that finds out nothing but the look', async () => {
    const { limiters, clock, cost, expire } = await setUp()
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    await expire()
    clock.advance(RELY_MS)
    const late: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>): void => void late.push(promise)
    const calls = await cost(async () => {
      await limiter.check(ACME, { waitUntil })
      await Promise.all(late)
    })
    expect(late).toHaveLength(1)
    // The decision, and after the response what saves the answer.
    expect(calls).toMatchObject({ requests: 2, evalsha: 2 })
  })

  it('the plan is a hash of its own with a TTL of 5 minutes, and the last known one of 7 days', async () => {
    const { limiters, prefix, database } = await setUp()
    const tenant = 'a:plan {x}*%'
    await limiters[0]?.check({ tenant })
    const key = `${prefix}:tenant:a%3Aplan%20%7Bx%7D*%25:plan`
    expect(await own.redis.exists(key)).toBe(0)
    database.plans.set(tenant, 'growth')
    await invalidatePlan(limiters[0] as Limiter, tenant)
    await limiters[0]?.check({ tenant })
    expect(await own.redis.hgetall(key)).toEqual({ plan: 'growth' })
    await limiters[0]?.check(ACME)
    const plan = `${prefix}:tenant:acme:plan`
    expect(await own.redis.hget(plan, 'plan')).toBe('starter')
    expect(await own.redis.hgetall(`${plan}:last`)).toEqual({ plan: 'starter' })
    const minutes = async (of: string) => Math.ceil((await own.redis.pttl(of)) / 60_000)
    expect([await minutes(plan), await minutes(`${plan}:last`)]).toEqual([5, 7 * 24 * 60])
  })

  it('a plan written by hand applies, and one that is none is looked up again', async () => {
    const { limiters, clock, prefix, database } = await setUp()
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    await own.redis.hset(`${prefix}:tenant:acme:plan`, 'plan', 'enterprise')
    clock.advance(RELY_MS)
    await limiter.peek(ACME)
    expect(planOf(await limiter.peek(ACME))).toBe('enterprise by resolver')
    database.plans.set('acme', 'growth')
    await own.redis.del(`${prefix}:tenant:acme:plan`)
    await own.redis.hset(`${prefix}:tenant:acme:plan`, 'plan', 'constructor')
    clock.advance(RELY_MS)
    expect((await limiter.peek(ACME)).plan).toBe('enterprise')
    await expect.poll(async () => (await limiter.peek(ACME)).plan).toBe('growth')
  })

  it("someone else's data under the plan's key changes no decision but the first", async () => {
    const { limiters, clock, prefix, database } = await setUp()
    const [limiter] = limiters as [Limiter]
    database.plans.set('acme', 'growth')
    await own.redis.set(`${prefix}:tenant:acme:plan`, 'not ours')
    expect(await limiter.check(ACME)).toMatchObject({
      plan: 'growth',
      degraded: { cause: 'store_refused' },
    })
    clock.advance(RELY_MS)
    const decision = await limiter.check(ACME)
    expect(decision).toMatchObject({ plan: 'growth', degraded: undefined, at: NOON + RELY_MS })
    expect(await own.redis.get(`${prefix}:tenant:acme:plan`)).toBe('not ours')
  })
})

describe('an isolate', () => {
  it('knows 10,000 plans at most, and forgets the least recently used', async () => {
    const { limiters, store, database } = isolates(1, memory({ maxKeys: 100_000 }))
    const [limiter] = limiters as [Limiter]
    database.instead = () => 'growth'
    const readsFor = async (tenant: string): Promise<number> =>
      (await callsOf(store, () => limiter.peek({ tenant }))).reads
    for (let tenant = 0; tenant < 10_000; tenant += 1) await limiter.peek({ tenant: `t${tenant}` })
    expect(await readsFor('t0')).toBe(0)
    expect(await readsFor('one more')).toBe(1)
    expect(await readsFor('t0')).toBe(0)
    expect(await readsFor('t1')).toBe(1)
    expect(await readsFor('t9999')).toBe(0)
  })

  it('sets no timer for a plan that it knows', async () => {
    const { limiters } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    expect(planOf(await limiter.check(ACME))).toBe('starter by resolver')
    expect(timers).not.toHaveBeenCalled()
    timers.mockRestore()
  })

  it('looks nobody up for a subject with a plan, or without a tenant', async () => {
    const all = fixedWindow({ name: 'all', limit: 9, window: '1h', per: 'global' })
    const { limiters, store, database } = isolates(1, memory(), {}, { policies: [all] })
    const [limiter] = limiters as [Limiter]
    const calls = await callsOf(store, async () => {
      expect(planOf(await limiter.check({ ...ACME, plan: 'growth' }))).toBe('growth by subject')
      expect(planOf(await limiter.check({ user: 'acme' }))).toBe('starter by default')
    })
    expect(calls).toEqual({ decisions: 2, reads: 0, writes: 0, resets: 0 })
    expect(database.asked).toEqual([])
  })

  it('may look plans up by another dimension', async () => {
    const { limiters, database } = isolates(1, memory(), { by: 'user' })
    database.plans.set('u1', 'enterprise')
    const [limiter] = limiters as [Limiter]
    const subject = { ...ACME, user: 'u1' }
    expect(planOf(await limiter.check(subject))).toBe('enterprise by resolver')
    database.plans.set('u1', 'growth')
    await invalidatePlan(limiter, 'u1')
    expect(planOf(await limiter.check(subject))).toBe('growth by resolver')
    expect(database.asked).toEqual(['u1', 'u1'])
  })

  it('is given work to keep alive past the response, and does without a waitUntil that throws', async () => {
    const { limiters, clock, expire, database } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    await expire()
    clock.advance(RELY_MS)
    database.plans.set('acme', 'growth')
    await limiter.check(ACME, { waitUntil: unbound })
    await expect.poll(async () => (await limiter.peek(ACME)).plan).toBe('growth')
  })

  it('whose first request is cut off while it searches is searched by a later one', async () => {
    vi.useFakeTimers()
    try {
      const { limiters, store, database } = isolates(1, memory(), { timeoutMs: 1_000 })
      const [limiter] = limiters as [Limiter]
      database.plans.set('acme', 'growth')
      // As on Cloudflare: what a cancelled request awaits never comes.
      const read = vi.spyOn(store, 'check').mockReturnValueOnce(new Promise(() => {}))
      void limiter.check(ACME)
      const waits = limiter.check(ACME)
      await vi.advanceTimersByTimeAsync(1_100)
      expect(planOf(await waits)).toBe('starter by default')
      await vi.advanceTimersByTimeAsync(20_000)
      expect(planOf(await limiter.check(ACME))).toBe('growth by resolver')
      read.mockRestore()
    } finally {
      vi.useRealTimers()
    }
  })
})
