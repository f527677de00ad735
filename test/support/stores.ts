import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PolicyRule, Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { calendarAlgorithm } from '@sluice/core/calendars'
import { creditAlgorithm, creditOperations } from '@sluice/core/credits'
import { sharesAlgorithm } from '@sluice/core/fair-share'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { movedFrom } from '@sluice/core/moves'
import { redis } from '@sluice/core/redis'
import { regional } from '@sluice/core/regional'
import { sharded } from '@sluice/core/sharded'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { upstashRedis } from '@sluice/core/upstash-redis'
import { lineAlgorithm, lineOperations } from '@sluice/core/waiting'
import { startLocal } from '@sluice/local'
import { usageOperations } from '@sluice/usage'
import { Redis as UpstashClient } from '@upstash/redis'
import { afterAll, beforeAll, inject } from 'vitest'
import { MAIN_STORES, running } from '../suites.ts'
import { inPlaces } from './in-places.ts'
import { objectsInProcess, storeIn } from './objects.ts'
import { connectCluster, overTcp, type TcpClientName } from './tcp-clients.ts'
import { startWorkerdObjects } from './workerd-objects.ts'

/** Makes stores of one kind; each has its own keys. */
export interface StoreMaker {
  make(): Store
  close(): Promise<void>
}

let made = 0

/** A key prefix that no other test uses. */
export function freshPrefix(): string {
  made += 1
  return `t${process.pid}-${made}-${Math.random().toString(36).slice(2, 8)}`
}

/** Every kind of store that must decide alike. Started on demand. */
export const STORES = {
  memory: async () => ({ make: () => memory(), close: async () => {} }),
  file: async () => inFolders(),
  'redis, built-in transport': async () => overRest({ redisUrl: inject('redisUrl') }),
  'redis, @upstash/redis client': async () => {
    const local = await startLocal({ redisUrl: inject('redisUrl') })
    const upstashClient = new UpstashClient({ url: local.url, token: local.token })
    return {
      make: () => upstashRedis(upstashClient, { prefix: freshPrefix(), timeoutMs: 30_000 }),
      close: () => local.close(),
    }
  },
  'redis, calls of one moment in one request': async () =>
    overRest({ redisUrl: inject('redisUrl') }, { pipeline: true }),
  'redis, decisions of one moment in one script call': async () => {
    const rest = await overRest({ redisUrl: inject('redisUrl') })
    return { make: () => batched(rest.make()), close: () => rest.close() }
  },
  'redis, ioredis client': async () => overTcpClient('ioredis 5'),
  'redis, node-redis client': async () => overTcpClient('node-redis'),
  'redis cluster, ioredis client': async () => overCluster('ioredis 5'),
  'redis cluster, node-redis client': async () => overCluster('node-redis'),
  'redis cluster, decisions of one moment in one script call': async () => {
    const cluster = await overCluster('ioredis 6')
    return { make: () => batched(cluster.make()), close: () => cluster.close() }
  },
  'four databases': async () => overDatabases(),
  'a region over home': async () => inRegion(),
  'embedded engine, built-in transport': async () => overRest({ engine: 'embedded' }),
  'durable objects, in this process': async () => ({
    make: () =>
      storeIn(
        objectsInProcess({
          operations: [...usageOperations, ...lineOperations, ...creditOperations],
          algorithms: [sharesAlgorithm, lineAlgorithm, calendarAlgorithm, creditAlgorithm],
        }).namespace,
      ),
    close: async () => {},
  }),
  'durable objects, in workerd': async () => {
    const objects = await startWorkerdObjects()
    return {
      make: () => storeIn(objects.namespace, freshPrefix()),
      close: async () => objects[Symbol.asyncDispose](),
    }
  },
} satisfies Record<string, () => Promise<StoreMaker>>

export type StoreName = keyof typeof STORES

/** The kinds that this run tests: `npm test` the main ones, `npm run test:stores` all others. */
export const STORES_TO_TEST = (Object.keys(STORES) as StoreName[]).filter(
  (name) => running === 'all' || MAIN_STORES.includes(name) === (running !== 'stores'),
)

/** Stores of one kind, each with its own keys, for the file or `describe` this is called in. */
export function storesOf(name: StoreName): () => Store {
  let maker: StoreMaker | undefined
  beforeAll(async () => {
    maker = await STORES[name]()
  })
  afterAll(() => maker?.close())
  return () => {
    if (maker === undefined) throw new Error('there are stores only while tests run')
    return maker.make()
  }
}

/** Makes stores in a cluster and in four databases, in turn. */
export function inClusterOrDatabases(): () => Store {
  const makers: StoreMaker[] = []
  let turn = 0
  beforeAll(async () => {
    makers.push(await overCluster('ioredis 6'), await overDatabases())
  })
  afterAll(() => Promise.all(makers.map((maker) => maker.close())))
  return () => (makers[(turn += 1) % makers.length] as StoreMaker).make()
}

async function inFolders(): Promise<StoreMaker> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-file-'))
  return {
    make: () => file(join(folder, freshPrefix())),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function overDatabases(): Promise<StoreMaker> {
  const databases = [1, 2, 3, 4].map((index) =>
    overTcp('ioredis 5', `${inject('redisUrl')}/${index}`),
  )
  return {
    make() {
      const prefix = freshPrefix()
      const stores = databases.map(({ make }, index) => [`db${index}`, make(prefix)] as const)
      // Half of the tenants come from the first two, if they have been there.
      const from = movedFrom({ stores: ['db0', 'db1'] })
      return inPlaces((shardBy) => sharded(Object.fromEntries(stores), { shardBy, from }))
    },
    close: async () => databases.forEach(({ close }) => close()),
  }
}

/** A region that counts everything by itself, and keeps records in home. */
async function inRegion(): Promise<StoreMaker> {
  const databases = [1, 2].map((index) => overTcp('ioredis 6', `${inject('redisUrl')}/${index}`))
  return {
    make() {
      const prefix = freshPrefix()
      const [home, here] = databases.map(({ make }) => make(prefix)) as [Store, Store]
      const perRegion = new Set<string>()
      let store = regional({ home, here })
      // Deployments share the store, and name their policies in it as they come.
      const learn = (policies: readonly PolicyRule[]): void => {
        const names = policies.map(({ name }) => name)
        if (names.every((name) => perRegion.has(name))) return
        for (const name of names) perRegion.add(name)
        store = regional({ home, here, perRegion: [...perRegion] })
      }
      return {
        accept(policies) {
          learn(policies)
          store.accept?.(policies)
        },
        placeOf: (request) => store.placeOf?.(request),
        check(request) {
          learn(request.policies)
          return store.check(request)
        },
        run: (operation) => store.run(operation),
        reset: (keys) => store.reset(keys),
      }
    },
    close: async () => databases.forEach(({ close }) => close()),
  }
}

async function overRest(
  options: Parameters<typeof startLocal>[0],
  more: UpstashOptions = {},
): Promise<StoreMaker> {
  const local = await startLocal(options)
  const { url, token } = local
  // A busy machine must not turn a decision into a degraded one.
  return {
    make: () => upstash({ url, token, prefix: freshPrefix(), timeoutMs: 30_000, ...more }),
    close: () => local.close(),
  }
}

async function overCluster(name: TcpClientName): Promise<StoreMaker> {
  const { client, close } = await connectCluster(name, inject('clusterPorts'))
  return {
    make() {
      const prefix = freshPrefix()
      return inPlaces((shardBy) => redis({ client, shardBy, prefix, timeoutMs: 30_000 }))
    },
    close: async () => close(),
  }
}

async function overTcpClient(name: TcpClientName): Promise<StoreMaker> {
  const { make, close } = overTcp(name, inject('redisUrl'))
  return { make: () => make(freshPrefix()), close: async () => close() }
}
