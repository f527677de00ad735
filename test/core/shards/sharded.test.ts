import {
  ConfigError,
  createLimiter,
  dailyCap,
  slidingWindow,
  type Limiter,
  type LimiterOptions,
} from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { sharded } from '@sluice/core/sharded'
import { describe, expect, it } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { Watched } from '../../support/watched-store.ts'

const RPM = slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })
const NAMES = ['a', 'b', 'c', 'd'] as const
const TENANTS = Array.from({ length: 2_000 }, (_, index) => `t${index}`)

const watched = (): Watched => new Watched(memory())

const memories = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, memory()]))

/** Creates a limiter over four stores. */
const refusing = (policies: LimiterOptions['policies']) => () =>
  createLimiter({ store: sharded(memories(NAMES)), policies })

async function placesOf(limiter: Limiter<'tenant'>): Promise<Map<string, string | undefined>> {
  const places = new Map<string, string | undefined>()
  for (const tenant of TENANTS) places.set(tenant, (await limiter.check({ tenant })).place)
  return places
}

const countOf = (places: ReadonlyMap<string, string | undefined>, name: string): number =>
  [...places.values()].filter((place) => place === name).length

describe('sharded', () => {
  it('counts each tenant in one store, and as many in each as its weight says', async () => {
    const weights = { a: 2, d: 0 }
    const even = createLimiter({ store: sharded(memories(NAMES)), policies: [RPM] })
    const places = await placesOf(even)
    for (const name of NAMES) {
      expect(countOf(places, name)).toBeGreaterThan(440)
      expect(countOf(places, name)).toBeLessThan(560)
    }
    const store = sharded(memories(NAMES), { weights })
    const weighted = await placesOf(createLimiter({ store, policies: [RPM] }))
    expect(countOf(weighted, 'a')).toBeGreaterThan(930)
    expect(countOf(weighted, 'a')).toBeLessThan(1_070)
    expect(countOf(weighted, 'b')).toBeGreaterThan(440)
    expect(countOf(weighted, 'd')).toBe(0)
  })

  it('moves no tenant but those that a new store takes, in whatever order they are named', async () => {
    const before = await placesOf(
      createLimiter({ store: sharded(memories(['a', 'b', 'c'])), policies: [RPM] }),
    )
    const after = await placesOf(
      createLimiter({ store: sharded(memories(['d', 'c', 'b', 'a'])), policies: [RPM] }),
    )
    const moved = TENANTS.filter((tenant) => before.get(tenant) !== after.get(tenant))
    expect(new Set(moved.map((tenant) => after.get(tenant)))).toEqual(new Set(['d']))
    expect(moved.length).toBe(countOf(after, 'd'))
  })

  it('degrades the tenants of a store that fails, and no other, and names it', async () => {
    const stores = { a: new Watched(memory()), b: new Watched(memory()) }
    const { problems, listener } = collectProblems()
    const limiter = createLimiter({
      store: sharded({ a: breaker(stores.a), b: stores.b }),
      policies: [RPM],
      onStoreError: 'deny',
      extensions: [listener],
    })
    const places = new Map<string, string | undefined>()
    for (const tenant of TENANTS.slice(0, 40)) {
      places.set(tenant, (await limiter.check({ tenant })).place)
    }
    stores.a.isDown = true
    for (const [tenant, place] of places) {
      const decision = await limiter.check({ tenant })
      expect(decision.place).toBe(place)
      expect(decision.degraded !== undefined).toBe(place === 'a')
    }
    // Once each, however often the other store answers.
    expect(problems).toMatchObject([
      { code: 'store_unreachable', place: 'a', message: expect.stringContaining('a: down') },
      { code: 'store_paused', place: 'a' },
    ])
    stores.a.isDown = false
    const [ofA = ''] = [...places].find(([, place]) => place === 'a') ?? []
    // Its breaker tries it again after a pause.
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect((await limiter.check({ tenant: ofA })).degraded).toBeUndefined()
    expect(problems.slice(2).map(({ code }) => code)).toEqual(['store_recovered'])
  })

  it('refuses a policy that no store could count, with its remedies', () => {
    const everyone = dailyCap({ name: 'everyone', limit: 5, per: 'global' })
    expect(refusing([everyone])).toThrow(
      /policies\.everyone\.per: must count per "tenant".*lease\(everyone\)/,
    )
    expect(refusing([lease(everyone)])).toThrow(/leases: placeLeases in sharded/)
    expect(refusing([lease(everyone)])).toThrow(ConfigError)
  })

  it('leaves leases of a tenant’s own limit to its store', async () => {
    const stores = { a: new Watched(memory()), b: new Watched(memory()) }
    const store = sharded({ a: leased(stores.a), b: leased(stores.b) })
    const large = slidingWindow({ name: 'large', limit: 500, window: '1h', per: ['tenant'] })
    const limiter = createLimiter({ store, policies: [lease(large)] })
    for (let call = 0; call < 100; call += 1) await limiter.check({ tenant: 'acme' })
    const calls = [stores.a, stores.b].map((one) => one.calls.decisions)
    expect(Math.max(...calls)).toBeLessThan(20)
    expect(Math.min(...calls)).toBe(0)
  })

  it('keeps what has no tenant in the store that is named home', async () => {
    for (const home of NAMES) {
      const stores = { a: watched(), b: watched(), c: watched(), d: watched() }
      const extensions = [runtimeConfiguration({ allow: { rpm: ['limit'] } })]
      const store = sharded(stores, { home })
      const limiter = createLimiter({ store, policies: [RPM], extensions })
      await configure(limiter, { rpm: { limit: 2 } })
      const written = NAMES.filter((name) => stores[name].calls.writes > 0)
      expect(written).toEqual([home])
    }
  })

  it('says once that each of two stores has failed, and which is back', async () => {
    const stores = { a: new Watched(memory()), b: new Watched(memory()) }
    const { problems, listener } = collectProblems()
    const limiter = createLimiter({
      store: sharded(stores),
      policies: [RPM],
      onStoreError: 'deny',
      extensions: [listener],
    })
    const checkAll = async () => {
      for (const tenant of TENANTS.slice(0, 20)) await limiter.check({ tenant })
    }
    stores.a.isDown = true
    await checkAll()
    stores.b.isDown = true
    await checkAll()
    expect(problems.map(({ place }) => place)).toEqual(['a', 'b'])
    stores.a.isDown = false
    await checkAll()
    expect(problems[2]?.message).toMatch(/^a is back after/)
    expect(problems).toHaveLength(3)
  })

  it('is not wrapped by what must know its stores', async () => {
    expect(() => breaker(sharded(memories(NAMES)))).toThrow(/breaker\.store/)
    const limiter = createLimiter({
      store: leased(sharded(memories(NAMES))),
      policies: [lease(RPM)],
    })
    await expect(limiter.check({ tenant: 'acme' })).rejects.toThrow(/must not be sharded/)
  })

  it('keeps the settings of whole policies in one store, and resets each tenant in its own', async () => {
    const store = sharded(memories(NAMES))
    const limiter = createLimiter({
      store,
      policies: [RPM],
      extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } })],
    })
    await configure(limiter, { rpm: { limit: 2 } })
    for (const tenant of TENANTS.slice(0, 10)) {
      const decisions = [0, 1, 2].map(() => limiter.check({ tenant }))
      const allowed = (await Promise.all(decisions)).filter((decision) => decision.allowed)
      expect(allowed).toHaveLength(2)
      await limiter.reset({ tenant })
      expect((await limiter.check({ tenant })).allowed).toBe(true)
    }
  })
})
