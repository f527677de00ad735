import { createLimiter, fixedWindow, type Store } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import { redis } from '@sluice/core/redis'
import { regional } from '@sluice/core/regional'
import { sharded } from '@sluice/core/sharded'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { objectsInProcess } from '../../support/objects.ts'
import { freshPrefix } from '../../support/stores.ts'
import { connectCluster } from '../../support/tcp-clients.ts'

const everyone = fixedWindow({ name: 'everyone', limit: 5, window: '1m', per: 'global' })

let cluster: Awaited<ReturnType<typeof connectCluster>>
beforeAll(async () => {
  cluster = await connectCluster('ioredis 6', inject('clusterPorts'))
})
afterAll(() => cluster.close())

/** Stores that count a policy for everyone once in each of several places, unless they refuse it. */
const PLACED: Record<string, () => Store> = {
  sharded: () => sharded({ a: memory(), b: memory(), c: memory() }),
  regional: () => regional({ home: memory(), here: memory() }),
  'durable objects': () => objectsInProcess().store(),
  'redis cluster': () => redis({ client: cluster.client, prefix: freshPrefix() }),
}

/** Wrappers: of a user, with the three methods of a store, and ours, which pass everything on. */
const threeMethods = (store: Store): Store => ({
  check: (request) => store.check(request),
  run: (operation) => store.run(operation),
  reset: (keys) => store.reset(keys),
})
const WRAPPERS: Record<string, (store: Store) => Store> = {
  nothing: (store) => store,
  cacheDenials,
  'a spread': (store) => ({ ...store, check: (request) => store.check(request) }),
}

describe.each(Object.entries(PLACED))('%s', (_, create) => {
  const refusal = /everyone/

  it.each(Object.entries(WRAPPERS))('in %s refuses a policy that it cannot count', (__, wrap) => {
    expect(() => createLimiter({ store: wrap(create()), policies: [everyone] })).toThrow(refusal)
  })

  it('in a wrapper of three methods refuses it at each decision, and charges nothing', async () => {
    const limiter = createLimiter({ store: threeMethods(create()), policies: [everyone] })
    for (const tenant of ['a', 'b', 'c', 'd']) {
      await expect(limiter.check({ tenant })).rejects.toThrow(refusal)
    }
  })

  it('in a wrapper of three methods counts a policy that it can count', async () => {
    const perTenant = fixedWindow({ name: 'tenant', limit: 1, window: '1m', per: ['tenant'] })
    const policies = [perTenant]
    const store =
      create === PLACED['regional']
        ? regional({ home: memory(), here: memory(), perRegion: ['tenant'] })
        : create()
    const limiter = createLimiter({ store: threeMethods(store), policies })
    expect((await limiter.check({ tenant: 'a' })).allowed).toBe(true)
    expect((await limiter.check({ tenant: 'a' })).allowed).toBe(false)
  })
})
