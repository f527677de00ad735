/* The stores of a swarm over a Redis Cluster or over several databases. */
import type { Store } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { movedFrom } from '@sluice/core/moves'
import { placeLeases } from '@sluice/core/place-leases'
import { redis, type IoredisCluster } from '@sluice/core/redis'
import { regional } from '@sluice/core/regional'
import { sharded, type ShardedOptions } from '@sluice/core/sharded'
import { connectCluster, overTcp } from '../support/tcp-clients.ts'

/** Where the places are. */
export interface Places {
  readonly prefix: string
  readonly clusterPorts?: readonly number[] | undefined
  readonly databaseUrls?: readonly string[] | undefined
  /** Or two regions: the address of home, and that of this region. */
  readonly region?: { readonly homeUrl: string; readonly hereUrl: string } | undefined
  /** The stage of moves, of which `STAGES` has the options. @default all databases count, and stay */
  readonly stage?: number | undefined
}

const from = (...stores: string[]) => movedFrom({ stores })

/** A database is added, another is removed, comes back, and the first one goes. Each stage follows the one before. */
const STAGES: readonly ShardedOptions[] = [
  { weights: { db3: 0 } },
  { from: from('db0', 'db1', 'db2') },
  { from: 'ended' },
  { weights: { db0: 0 }, from: from('db0', 'db1', 'db2', 'db3') },
  { weights: { db0: 0 }, from: 'ended' },
  { from: from('db1', 'db2', 'db3') },
  { from: 'ended' },
  { weights: { db3: 0 }, from: from('db0', 'db1', 'db2', 'db3') },
  { weights: { db3: 0 }, from: 'ended' },
]

/** Returns the options of a stage. After the last, they go round. */
const optionsOf = (stage: number): ShardedOptions =>
  STAGES[stage === 0 ? 0 : ((stage - 1) % (STAGES.length - 1)) + 1] ?? {}

/** True if a stage says that all tenants have moved. */
export const isEnd = (stage: number): boolean => optionsOf(stage).from === 'ended'

/** Opens a store of one process, which holds leases of its own. */
export async function openPlaces({
  prefix,
  clusterPorts,
  databaseUrls = [],
  region,
  stage,
}: Places) {
  if (region) {
    const connections = [region.homeUrl, region.hereUrl].map((url) => overTcp('ioredis 5', url))
    const [home, here] = connections.map(({ make }) => make(prefix)) as [Store, Store]
    // A region that is cut off finds out soon.
    const placed = regional({ home: breaker(home), here, perRegion: ['plain'] })
    const close = (): void => {
      for (const connection of connections) connection.close()
    }
    return { ...placed, returnUnits: () => placed.returnUnits(), close }
  }
  if (clusterPorts) {
    const { client, close } = await connectCluster('ioredis 5', clusterPorts)
    const options = { client: client as IoredisCluster, prefix, timeoutMs: 30_000 }
    const placed = redis({ ...options, leases: placeLeases })
    return { ...placed, returnUnits: () => placed.returnUnits(), close }
  }
  const databases = databaseUrls.map((url) => overTcp('ioredis 5', url))
  const stores = databases.map(({ make }, index) => [`db${index}`, make(prefix)] as const)
  const moving = stage === undefined ? {} : optionsOf(stage)
  const placed = sharded(Object.fromEntries(stores), { ...moving, leases: placeLeases })
  const close = (): void => {
    for (const database of databases) database.close()
  }
  return { ...placed, returnUnits: () => placed.returnUnits(), close }
}
