import {
  createLimiter,
  dailyCap,
  fixedWindow,
  slidingWindow,
  type Decision,
  type LimiterOptions,
  type Store,
} from '@sluice/core'
import { lease } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { placeLeases } from '@sluice/core/place-leases'
import { redis } from '@sluice/core/redis'
import { regional } from '@sluice/core/regional'
import { fitRange, release, reservation, reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startRedisCluster, type RedisCluster } from '../../support/redis-cluster.ts'
import { freshPrefix } from '../../support/stores.ts'
import { connectCluster, overTcp, type TcpClient } from '../../support/tcp-clients.ts'
import { Watched } from '../../support/watched-store.ts'

const LIMIT = 500
const everyone = slidingWindow({ name: 'everyone', limit: LIMIT, window: '1h', per: 'global' })
const own = slidingWindow({ name: 'own', limit: 200, window: '1h', per: ['tenant'] })
const TOKENS = { name: 'tokens', window: '1d', unit: 'token', per: 'global' } as const
const tokens = fixedWindow({ ...TOKENS, limit: 100_000 })
const few = fixedWindow({ ...TOKENS, name: 'few', limit: 1_000 })
const FIT = fitRange({ floor: 10, most: 5_000, rates: { token: 1_000_000 } })
const NAMES = ['a', 'b', 'c', 'd']

/** Makes a function that returns a new process on the same counts: its store holds leases of its own. */
const PLACES: Record<string, () => () => Store> = {
  'four stores in memory': () => {
    const stores = Object.fromEntries(NAMES.map((name) => [name, memory()]))
    return () => sharded(stores, { leases: placeLeases })
  },
  'four databases': () => {
    const prefix = freshPrefix()
    const stores = NAMES.map((name) => [name, databases.get(name)!.make(prefix)] as const)
    return () => sharded(Object.fromEntries(stores), { leases: placeLeases })
  },
  'a region over home': () => {
    const prefix = freshPrefix()
    const [home, here] = NAMES.map((name) => databases.get(name)!.make(prefix)) as [Store, Store]
    return () => regional({ home, here, perRegion: ['own', 'small', 'cap'] })
  },
  'a Redis Cluster': () => {
    const prefix = freshPrefix()
    const { client } = connection
    return () => redis({ client, prefix, timeoutMs: 30_000, leases: placeLeases })
  },
}

let cluster: RedisCluster
let connection: TcpClient
const databases = new Map<string, ReturnType<typeof overTcp>>()

beforeAll(async () => {
  cluster = await startRedisCluster()
  const ports = cluster.nodes.map(({ port }) => port)
  connection = await connectCluster('ioredis 5', ports)
  for (const [index, name] of NAMES.entries()) {
    databases.set(name, overTcp('ioredis 5', `${inject('redisUrl')}/${index + 1}`))
  }
})
afterAll(async () => {
  connection.close()
  for (const { close } of databases.values()) close()
  await cluster.stop()
})

describe.each(Object.entries(PLACES))('a limit for everyone over %s', (...[, places]) => {
  type Policies = LimiterOptions['policies']
  const limiterOn = (store: Store, policies: Policies) =>
    createLimiter({ store, policies, onStoreError: 'deny' })
  const setUp = (policies: Policies) => limiterOn(places()(), policies)

  it('is never exceeded by processes and tenants that ask at once, and hardly left unused', async () => {
    const open = places()
    const processes = [0, 1, 2].map(() => limiterOn(open(), [own, lease(everyone)]))
    const decisions: Decision[] = []
    for (let round = 0; round < 10; round += 1) {
      const checks = processes.flatMap((limiter) =>
        Array.from({ length: 24 }, (_, call) => limiter.check({ tenant: `t${call % 6}` })),
      )
      decisions.push(...(await Promise.all(checks)))
    }
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    expect(new Set(decisions.map(({ violated }) => violated?.name))).toEqual(
      new Set([undefined, 'everyone']),
    )
    const allowed = decisions.filter((decision) => decision.allowed).length
    expect(allowed).toBeLessThanOrEqual(LIMIT)
    expect(allowed).toBeGreaterThan(LIMIT * 0.9)
  })

  it('is given back what a tenant’s own policies deny', async () => {
    const small = slidingWindow({ name: 'small', limit: 3, window: '1h', per: ['tenant'] })
    const limiter = setUp([small, lease(fixedWindow({ ...TOKENS, unit: 'request', limit: 20 }))])
    for (const tenant of ['a', 'b', 'c', 'd', 'e']) {
      const decisions: Decision[] = []
      for (let call = 0; call < 10; call += 1) decisions.push(await limiter.check({ tenant }))
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
      expect(decisions.at(-1)).toMatchObject({ violated: { name: 'small' }, policies: [{}, {}] })
    }
  })

  it('is reserved and settled with the tenant’s own, and what is not used comes back', async () => {
    const limiter = setUp([own, lease(tokens)])
    for (let call = 0; call < 150; call += 1) {
      // In all 150,000 are reserved, of a limit of 100,000, and 15,000 are used.
      const made = await reserve(limiter, { tenant: `t${call % 3}` }, { cost: { token: 1_000 } })
      expect(made).toMatchObject({ allowed: true, degraded: undefined })
      const settled = made.allowed ? await made.settle({ token: 100 }) : undefined
      expect(settled).toMatchObject({ applied: true, returned: { token: 900 } })
    }
  })

  it('is charged what a call has used beyond its estimate', async () => {
    const limiter = setUp([own, lease(few)])
    const made = await reserve(limiter, { tenant: 'a' }, { cost: { token: 100 } })
    expect(made.allowed && (await made.settle({ token: 950 })).overrun).toEqual({ token: 850 })
    const next = await reserve(limiter, { tenant: 'b' }, { cost: { token: 100 } })
    expect(next).toMatchObject({ allowed: false, violated: { name: 'few' } })
  })

  it('grants to a range what home and the tenant have', async () => {
    const cap = dailyCap({ name: 'cap', limit: 600, unit: 'token', per: ['tenant'] })
    const limiter = setUp([cap, lease(few)])
    const first = await reserve(limiter, { tenant: 'a' }, { cost: {}, fit: FIT })
    expect(first).toMatchObject({ allowed: true, granted: 600 })
    // Units that home has granted beyond that are back once the call is settled.
    if (first.allowed) await first.settle({ token: 600 })
    const second = await reserve(limiter, { tenant: 'b' }, { cost: {}, fit: FIT })
    expect(second).toMatchObject({ allowed: true, granted: 400 })
  })

  it('is settled by another process: what it has used beyond the estimate is charged', async () => {
    const open = places()
    const policies = [own, lease(few)]
    const made = await reserve(
      limiterOn(open(), policies),
      { tenant: 'a' },
      { cost: { token: 100 } },
    )
    if (!made.allowed) throw new Error('It is the first')
    const settled = await reservation(limiterOn(open(), policies), made.toJSON()).settle({
      token: 900,
    })
    expect(settled).toMatchObject({ applied: true, overrun: { token: 800 } })
    const next = await reserve(
      limiterOn(open(), policies),
      { tenant: 'b' },
      { cost: { token: 150 } },
    )
    expect(next).toMatchObject({ allowed: false, violated: { name: 'few' } })
  })

  it('cannot be reserved with a release, which says so', async () => {
    const options = { cost: { token: 1 }, unsettled: release() }
    const reserving = reserve(setUp([own, lease(tokens)]), { tenant: 'a' }, options)
    await expect(reserving).rejects.toThrow(
      /unsettled: must be left out: the leased policy "tokens"/,
    )
  })

  it('is served without the store where no other policy takes part', async () => {
    const limiter = setUp([lease(everyone)])
    const sources = new Set<string>()
    for (let call = 0; call < 50; call += 1) sources.add((await limiter.check({})).source)
    expect(sources).toContain('lease')
    const made = await reserve(limiter, {}, { cost: 1 })
    expect(made.allowed && (await made.settle(1))).toMatchObject({ applied: true })
  })
})

it('a limit for everyone costs hardly a trip, and no more than one for what a tenant has itself', async () => {
  const stores = Object.fromEntries(NAMES.map((name) => [name, new Watched(memory())]))
  const store = sharded(stores, { leases: placeLeases })
  const limiter = createLimiter({ store, policies: [own, lease(everyone)] })
  for (let call = 0; call < 150; call += 1) await limiter.check({ tenant: 'acme' })
  const trips = Object.values(stores).map(({ calls }) => calls.decisions)
  expect(trips.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(150 + 15)
  await store.returnUnits()
  await expect(limiter.check({ tenant: 'acme' })).resolves.toMatchObject({ allowed: true })
})
