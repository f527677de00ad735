import { definePlans, slidingWindow, createLimiter, dailyCap } from '@sluice/core'
import { lease, leased } from '@sluice/core/leases'
import { describe, expect, it } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUpLeases, settled } from './support.ts'

const minute = { limit: 1_000, window: '1m', per: ['tenant'] } as const
const rpm = lease(slidingWindow({ name: 'rpm', ...minute }), { duration: '2s' })

describe('unused units', () => {
  it('go back when the next decision finds the lease over', async () => {
    const { limiter, clock, start, shared } = setUpLeases([rpm])
    await spend(limiter, 20)
    const other = start()
    expect((await other.limiter.peek(ACME)).policies[0]?.remaining).toBe(1_000 - 31)
    clock.advance(2_000)
    await spend(limiter, 1)
    await settled()
    expect(shared.returns).toBe(1)
    expect((await other.limiter.peek(ACME)).policies[0]?.remaining).toBeLessThanOrEqual(1_000 - 21)
  })

  it('of tenants that are gone go back with the calls of others', async () => {
    const { limiter, clock, shared } = setUpLeases([rpm])
    await spend(limiter, 4, { tenant: 'gone' })
    clock.advance(4_000)
    await spend(limiter, 1, { tenant: 'other' })
    await settled()
    expect(shared.returns).toBe(1)
  })

  it('all go back before a shutdown', async () => {
    const daily = lease(dailyCap({ name: 'daily', limit: 500, per: ['tenant'] }))
    const { limiter, store, start } = setUpLeases([rpm, daily])
    for (const tenant of ['a', 'b', 'c']) await spend(limiter, 20, { tenant })
    await store.returnUnits()
    for (const tenant of ['a', 'b', 'c']) {
      const { policies } = await start().limiter.peek({ tenant })
      expect(policies.map(({ remaining }) => remaining)).toEqual([980, 480])
    }
    await store.returnUnits()
    await spend(limiter, 1)
  })

  it('go back before a shutdown without a wait for decisions under way', async () => {
    const own = slidingWindow({ ...minute, name: 'own' })
    const { limiter, store, shared, start } = setUpLeases([rpm, own])
    await spend(limiter, 20)
    const resume = shared.holdReplies()
    const late = limiter.check(ACME)
    await settled()
    await store.returnUnits()
    expect(shared.returns).toBe(1)
    resume()
    expect((await late).allowed).toBe(true)
    await shared.idle()
    const { policies } = await start().limiter.peek(ACME)
    expect(policies.map(({ remaining }) => remaining)).toEqual([979, 979])
  })

  it.each([true, false])(
    'of a block that arrives after that go back, too, with fetchAhead %s',
    async (fetchAhead) => {
      const { limiter, store, shared, start } = setUpLeases([rpm], { leases: { fetchAhead } })
      await spend(limiter, 6)
      const resume = shared.holdReplies()
      const late = Promise.all(Array.from({ length: 30 }, () => limiter.check(ACME)))
      await settled()
      await store.returnUnits()
      resume()
      await late
      await shared.idle()
      await store.returnUnits()
      await shared.idle()
      expect((await start().limiter.peek(ACME)).policies[0]?.remaining).toBe(1_000 - 36)
    },
  )

  it('of two policies go back together, also if their block arrives later', async () => {
    const all = lease(slidingWindow({ name: 'all', ...minute, per: 'global' }))
    const { limiter, store, shared, start } = setUpLeases([rpm, all])
    await spend(limiter, 3)
    const resume = shared.holdReplies()
    const late = limiter.check(ACME)
    await settled()
    await store.returnUnits()
    resume()
    await late
    await shared.idle()
    const { policies } = await start().limiter.peek(ACME)
    expect(policies.map(({ remaining }) => remaining)).toEqual([996, 996])
  })

  it('of partitions that are too many go back, also if their block arrives later', async () => {
    const { limiter, store, shared, start } = setUpLeases([rpm], { leases: { maxLeases: 1 } })
    const tenants = Array.from({ length: 64 }, (_, index) => ({ tenant: `t${index % 4}` }))
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(tenants.map((tenant) => limiter.check(tenant)))
    }
    await store.returnUnits()
    await shared.idle()
    for (const tenant of tenants.slice(0, 4)) {
      const { policies } = await start().limiter.peek(tenant)
      expect(policies[0]?.remaining).toBe(1_000 - 48)
    }
  })

  it('stay charged if they cannot be given back', async () => {
    const { limiter, store, shared, start } = setUpLeases([rpm])
    await spend(limiter, 4)
    shared.isDown = true
    await store.returnUnits()
    shared.isDown = false
    expect((await start().limiter.peek(ACME)).policies[0]?.remaining).toBe(1_000 - 7)
  })

  it('of two policies go back together, once both leases are over', async () => {
    const policies = [
      rpm,
      lease(slidingWindow({ name: 'all', ...minute, per: 'global' }), { duration: '30s' }),
    ]
    const { limiter, clock, shared, store, start } = setUpLeases(policies)
    await spend(limiter, 4)
    clock.advance(2_000)
    await spend(limiter, 1)
    await settled()
    expect(shared.returns).toBe(0)
    await store.returnUnits()
    const { policies: states } = await start().limiter.peek(ACME)
    expect(states.map(({ remaining }) => remaining)).toEqual([995, 995])
  })
})

describe('a lease', () => {
  it('of another limit is given up', async () => {
    const plans = definePlans({ starter: { rpm: 100 }, growth: { rpm: 200 } })
    const policy = slidingWindow({
      name: 'rpm',
      limit: ({ plan }) => plan['rpm'],
      window: '1m',
      per: ['tenant'],
    })
    const { clock, shared } = setUpLeases([rpm])
    const limiter = createLimiter({
      store: leased(shared, { fetchAhead: false }),
      plans,
      clock,
      policies: [lease(policy)],
    })
    await spend(limiter, 6, { tenant: 'acme', plan: 'starter' })
    const upgraded = await limiter.check({ tenant: 'acme', plan: 'growth' })
    expect([upgraded.source, upgraded.policies[0]?.limit]).toEqual(['store', 200])
    await settled()
    expect(shared.returns).toBe(1)
  })

  it('ends with a reset of its partition, and no other', async () => {
    const { limiter, shared } = setUpLeases([rpm])
    await spend(limiter, 4)
    await spend(limiter, 4, { tenant: 'other' })
    await limiter.reset(ACME)
    expect((await limiter.check(ACME)).source).toBe('store')
    expect((await limiter.check({ tenant: 'other' })).source).toBe('lease')
    await settled()
    expect(shared.returns).toBe(0)
  })

  it('is not made of a block that was on its way during a reset', async () => {
    const { limiter, shared } = setUpLeases([rpm])
    await spend(limiter, 3)
    const resume = shared.holdReplies()
    const late = limiter.check(ACME)
    await settled()
    await limiter.reset(ACME)
    resume()
    await late
    expect((await limiter.check(ACME)).source).toBe('store')
  })

  it('ends early if there are too many: the oldest goes first', async () => {
    const { limiter, shared } = setUpLeases([rpm], { leases: { maxLeases: 2 } })
    for (const tenant of ['a', 'b', 'c']) await spend(limiter, 2, { tenant })
    await settled()
    expect(shared.returns).toBe(1)
    const sources: string[] = []
    for (const tenant of ['c', 'b', 'a']) sources.push((await limiter.check({ tenant })).source)
    expect(sources).toEqual(['lease', 'lease', 'store'])
  })
})
