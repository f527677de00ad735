import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { fixedWindow, type Limiter } from '@sluice/core'
import { describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { callsOf } from '../../support/watched-store.ts'
import { flood, isolates, planOf, FRESH_MS, type Isolates } from './support.ts'

/** Throws like `ctx.waitUntil` that was passed without its `ctx`. */
const unbound = (): never => {
  throw new TypeError('Illegal invocation')
}

describe('over Redis', () => {
  // Commands are counted, so it is shared with nobody.
  const own = ownRedisOverHttp()

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

  it('a decision is one HTTP request without extra commands, for 5 s at a time', async () => {
    const { limiters, clock, cost } = await setUp()
    const check = () => (limiters[0] as Limiter).check(ACME)
    await check()
    expect(await cost(check)).toEqual({ requests: 1, evalsha: 1, hget: 0, other: spent })
    clock.advance(FRESH_MS)
    // The plan is read along, by one command more.
    expect(await cost(check)).toEqual({ requests: 1, evalsha: 1, hget: 1, other: { get: 1 } })
    expect(await cost(check)).toEqual({ requests: 1, evalsha: 1, hget: 0, other: { get: 1 } })
  })

  it('a changed plan costs one more request, and only for a denial', async () => {
    const { limiters, isolate, clock, database, cost } = await setUp()
    const [limiter] = limiters as [Limiter]
    const other = isolate()
    await flood(limiters)
    database.plans.set('acme', 'growth')
    await invalidatePlan(other, 'acme')
    await other.check(ACME)
    clock.advance(FRESH_MS)
    expect(await cost(() => limiter.check(ACME))).toMatchObject({ requests: 2, hget: 1 })
    expect(await cost(() => limiter.check(ACME))).toMatchObject({ requests: 1, hget: 0 })
  })

  it('the first request of an isolate costs one more, the first of a tenant two more', async () => {
    const { limiters, isolate, cost } = await setUp()
    const first = await cost(() => (limiters[0] as Limiter).check(ACME))
    // Read the plan, save what the resolver says, decide.
    expect(first).toMatchObject({ requests: 3, evalsha: 3 })
    const second = await cost(() => isolate().check(ACME))
    expect(second).toMatchObject({ requests: 2, evalsha: 2, hget: 2 })
  })

  it('an expired plan costs the request that discovers it only the read', async () => {
    const { limiters, clock, cost, expire } = await setUp()
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    await expire()
    clock.advance(FRESH_MS)
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

  it('the plan is one hash with a TTL of 5 minutes, and the last known one has 7 days', async () => {
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

  it('a plan written by hand applies, and an invalid one is looked up again', async () => {
    const { limiters, clock, prefix, database } = await setUp()
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    await own.redis.hset(`${prefix}:tenant:acme:plan`, 'plan', 'enterprise')
    clock.advance(FRESH_MS)
    await limiter.peek(ACME)
    expect(planOf(await limiter.peek(ACME))).toBe('enterprise by resolver')
    database.plans.set('acme', 'growth')
    await own.redis.del(`${prefix}:tenant:acme:plan`)
    await own.redis.hset(`${prefix}:tenant:acme:plan`, 'plan', 'constructor')
    clock.advance(FRESH_MS)
    expect((await limiter.peek(ACME)).plan).toBe('enterprise')
    await expect.poll(async () => (await limiter.peek(ACME)).plan).toBe('growth')
  })

  it('foreign data under the key of a plan changes only the first decision', async () => {
    const { limiters, clock, prefix, database } = await setUp()
    const [limiter] = limiters as [Limiter]
    database.plans.set('acme', 'growth')
    await own.redis.set(`${prefix}:tenant:acme:plan`, 'not ours')
    expect(await limiter.check(ACME)).toMatchObject({
      plan: 'growth',
      degraded: { cause: 'store_refused' },
    })
    clock.advance(FRESH_MS)
    const decision = await limiter.check(ACME)
    expect(decision).toMatchObject({ plan: 'growth', degraded: undefined, at: NOON + FRESH_MS })
    expect(await own.redis.get(`${prefix}:tenant:acme:plan`)).toBe('not ours')
  })
})

describe('an isolate', () => {
  it('keeps 10,000 plans at most, and drops the least recently used', async () => {
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

  it('sets no timer for a known plan', async () => {
    const { limiters } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    const timers = vi.spyOn(globalThis, 'setTimeout')
    expect(planOf(await limiter.check(ACME))).toBe('starter by resolver')
    expect(timers).not.toHaveBeenCalled()
    timers.mockRestore()
  })

  it('looks nothing up for a subject with a plan, or without a tenant', async () => {
    const all = fixedWindow({ name: 'all', limit: 9, window: '1h', per: 'global' })
    const { limiters, store, database } = isolates(1, memory(), {}, { policies: [all] })
    const [limiter] = limiters as [Limiter]
    const calls = await callsOf(store, async () => {
      expect(planOf(await limiter.check({ ...ACME, plan: 'growth' }))).toBe('growth by subject')
      expect(planOf(await limiter.check({ user: 'acme' }))).toBe('starter by default')
    })
    expect(calls).toEqual({ decisions: 2, reads: 0, writes: 0, resets: 0 })
    expect(database.queries).toEqual([])
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
    expect(database.queries).toEqual(['u1', 'u1'])
  })

  it('passes background work to waitUntil, and does without one that throws', async () => {
    const { limiters, clock, expire, database } = isolates(1, memory())
    const [limiter] = limiters as [Limiter]
    await limiter.check(ACME)
    await expire()
    clock.advance(FRESH_MS)
    database.plans.set('acme', 'growth')
    await limiter.check(ACME, { waitUntil: unbound })
    await expect.poll(async () => (await limiter.peek(ACME)).plan).toBe('growth')
  })

  it('repeats a look-up that was cut off with its request', async () => {
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
