import { createLimiter, fixedWindow, manualClock, type Store } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { memory } from '@sluice/core/memory'
import { redis } from '@sluice/core/redis'
import { reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { durableObjects } from '../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { objectsInProcess } from '../support/objects.ts'
import { freshPrefix } from '../support/stores.ts'
import { connectCluster, type TcpClient } from '../support/tcp-clients.ts'
import { NOON } from '../support/times.ts'

const MODELS = Array.from({ length: 12 }, (_, at) => `m${at}`)

let cluster: TcpClient
beforeAll(async () => {
  cluster = await connectCluster('ioredis 6', inject('clusterPorts'))
})
afterAll(() => cluster.close())

/** Stores with a place for each model, and how often what they stand on was called. */
const PLACES: Record<string, () => { readonly store: Store; readonly calls: () => number }> = {
  'several databases'() {
    let calls = 0
    const watched = (): Store => {
      const inner = memory()
      return {
        ...inner,
        check: (request) => ((calls += 1), inner.check(request)),
        run: (operation) => ((calls += 1), inner.run(operation)),
      }
    }
    const stores = { a: watched(), b: watched(), c: watched(), d: watched() }
    return { store: sharded(stores, { shardBy: 'model' }), calls: () => calls }
  },
  'Durable Objects'() {
    let calls = 0
    const { namespace } = objectsInProcess()
    const watched: typeof namespace = {
      idFromName: (name) => namespace.idFromName(name),
      get: (id) => ({
        sluice(message) {
          calls += 1
          return namespace.get(id).sluice(message)
        },
      }),
    }
    const store = durableObjects(watched, { shardBy: 'model', timeoutMs: 30_000 })
    return { store, calls: () => calls }
  },
  'a Redis Cluster'() {
    const options = { shardBy: 'model', prefix: freshPrefix(), timeoutMs: 30_000 }
    const store = redis({ client: cluster.client, ...options })
    return { store, calls: () => 0 }
  },
}

const list = (models: readonly string[]) => ({
  choices: choices(models.map((model) => ({ subject: { model } }))),
})

describe.each(Object.entries(PLACES))('choices over %s', (_, open) => {
  const setUp = async () => {
    const { store, calls } = open()
    const limiter = createLimiter({
      store,
      clock: manualClock(NOON),
      policies: [fixedWindow({ name: 'rpm', limit: 2, window: '1h', per: ['model'] })],
    })
    // A list of shards is read before the first decision.
    for (const model of MODELS) await limiter.check({ model })
    return { limiter, calls }
  }
  it('that lie in several places are refused before any is asked, with the option that says where', async () => {
    const { limiter, calls } = await setUp()
    const before = calls()
    for (const ask of [
      () => limiter.check({}, list(MODELS)),
      () => limiter.peek({}, list(MODELS)),
      () => reserve(limiter, {}, list(MODELS)),
    ]) {
      await expect(ask()).rejects.toThrow(/shardBy/)
    }
    expect(calls()).toBe(before)
    const left = await Promise.all(MODELS.map((model) => limiter.peek({ model })))
    expect(left.map(({ policies }) => policies[0]?.remaining)).toEqual(MODELS.map(() => 1))
  })

  it('that lie in one place are decided there', async () => {
    const { limiter } = await setUp()
    const decision = await limiter.check({}, list(['m3', 'm3']))
    expect(decision).toMatchObject({ allowed: true, choice: 0, degraded: undefined })
    expect(await limiter.check({}, list(['m3', 'm3']))).toMatchObject({ allowed: false, choice: 0 })
  })
})
