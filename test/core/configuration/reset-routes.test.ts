import { concurrency, createLimiter, slidingWindow, tokenBucket, type Store } from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  resetAll,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { rateLimit } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'

const ACME = { tenant: 'acme' }
const ROUTES = ['chat', 'search']

/** A tenant's requests by route, by a route of two, in all, and in flight by route. */
const policies = [
  slidingWindow({ name: 'each', limit: 10, window: '1m', per: ['tenant', 'route'] }),
  tokenBucket({
    name: 'some',
    limit: 10,
    window: '1h',
    per: ['route', 'tenant'],
    routes: ['chat'],
  }),
  slidingWindow({ name: 'all', limit: 10, window: '1m', per: ['tenant'] }),
  concurrency({ name: 'calls', limit: 10, per: ['tenant', 'route'], onMissing: 'skip' }),
]

function limiterOn(store: Store, records = false) {
  const allow = { each: ['limit'], some: ['limit'], all: ['limit'] } as const
  const partitions = records ? { partitions: partitionRecords() } : {}
  const extensions = [runtimeConfiguration({ allow, ...partitions })]
  const limiter = createLimiter({ store, policies, extensions })
  const used = async (tenant = 'acme') => {
    const counts: Record<string, number> = {}
    for (const route of ROUTES) {
      const subject = { tenant, route }
      for (const { name, limit, remaining } of (await limiter.peek(subject)).policies) {
        counts[`${name} ${route}`] = limit - remaining
      }
    }
    return counts
  }
  const spend = async () => {
    for (const tenant of ['acme', 'acme2']) {
      for (const route of ROUTES) await limiter.check({ tenant, route })
    }
  }
  return { limiter, used, spend }
}

const NOTHING = { 'each chat': 0, 'some chat': 0, 'all chat': 0, 'calls chat': 0 }
const NONE = { ...NOTHING, 'each search': 0, 'all search': 0, 'calls search': 0 }

describe.each(STORES_TO_TEST)('a reset of a tenant, without a route, on %s', (name) => {
  const make = storesOf(name)

  it('is of the routes that are named, or of those of the policy', async () => {
    const { limiter, used, spend } = limiterOn(make())
    await spend()
    await limiter.reset(ACME, { policies: ['some'] })
    expect(await used()).toMatchObject({ 'each chat': 1, 'some chat': 0, 'all chat': 2 })
    await limiter.reset(ACME, { routes: ['chat'] })
    expect(await used()).toEqual({ ...NONE, 'each search': 1, 'calls search': 1 })
    await limiter.reset(ACME, { routes: ROUTES })
    expect(await used()).toEqual(NONE)
    expect(await used('acme2')).toMatchObject({ 'each chat': 1, 'some chat': 1, 'all search': 2 })
  })

  it('is an error if no route is known, and resets nothing', async () => {
    const { limiter, used, spend } = limiterOn(make())
    await spend()
    const refused = { name: 'ConfigError', option: 'reset.routes' }
    await expect(limiter.reset(ACME)).rejects.toMatchObject(refused)
    await expect(removeConfiguration(limiter, ACME)).rejects.toMatchObject(refused)
    await expect(resetAll(limiter, ACME)).rejects.toMatchObject(refused)
    await expect(limiter.reset(ACME, { routes: [] })).rejects.toMatchObject(refused)
    await expect(limiter.reset(ACME, { routes: 'chat' as never })).rejects.toMatchObject(refused)
    expect(await used()).toMatchObject({ 'each chat': 1, 'some chat': 1, 'all chat': 2 })
  })

  it.each([false, true])(
    'may be of its settings, too, in one call; records: %s',
    async (records) => {
      const { limiter, used, spend } = limiterOn(make(), records)
      await configure(limiter, { all: { limit: 9 } })
      await configure(limiter, { all: { limit: 5 } }, ACME)
      for (const route of ROUTES)
        await configure(limiter, { each: { limit: 5 } }, { ...ACME, route })
      await configure(limiter, { each: { limit: 5 } }, { tenant: 'acme2', route: 'chat' })
      await spend()
      await resetAll(limiter, ACME, { routes: ROUTES })
      expect(await used()).toEqual(NONE)
      for (const route of ROUTES) {
        expect(await readConfiguration(limiter, { ...ACME, route })).toEqual([])
      }
      const other = { tenant: 'acme2', route: 'chat' }
      expect(await readConfiguration(limiter, other)).toMatchObject([{ settings: { limit: 5 } }])
      const { policies: limits } = await limiter.peek({ ...ACME, route: 'chat' })
      expect(limits.map(({ limit }) => limit)).toEqual([10, 10, 9, 10])
    },
  )
})

// Last in this file, because adapters stay known to their process.
describe.each(STORES_TO_TEST)('beside an adapter, on %s', (name) => {
  const make = storesOf(name)

  it('a reset without a route is of all the routes that the adapter has', async () => {
    const { limiter, used, spend } = limiterOn(make())
    const routes = ROUTES.map((id) => ({ path: `/${id}`, id }))
    rateLimit(limiter, { routes, subject: () => ACME }, () => new Response())
    await spend()
    await limiter.reset(ACME)
    expect(await used()).toEqual(NONE)
    expect(await used('acme2')).toMatchObject({ 'each chat': 1, 'some chat': 1, 'all search': 2 })
  })
})
