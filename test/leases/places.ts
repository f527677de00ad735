/* The stores of a swarm over a Redis Cluster or over several databases. */
import { placeLeases } from '@sluice/core/place-leases'
import { redis, type IoredisCluster } from '@sluice/core/redis'
import { sharded } from '@sluice/core/sharded'
import { connectCluster, overTcp } from '../support/tcp-clients.ts'

/** Where the places are. */
export interface Places {
  readonly prefix: string
  readonly clusterPorts?: readonly number[] | undefined
  readonly databaseUrls?: readonly string[] | undefined
}

/** Opens a store of one process, which holds leases of its own. */
export async function openPlaces({ prefix, clusterPorts, databaseUrls = [] }: Places) {
  if (clusterPorts) {
    const { client, close } = await connectCluster('ioredis 5', clusterPorts)
    const options = { client: client as IoredisCluster, prefix, timeoutMs: 30_000 }
    const placed = redis({ ...options, leases: placeLeases })
    return { ...placed, returnUnits: () => placed.returnUnits(), close }
  }
  const databases = databaseUrls.map((url) => overTcp('ioredis 5', url))
  const stores = databases.map(({ make }, index) => [`db${index}`, make(prefix)] as const)
  const placed = sharded(Object.fromEntries(stores), { leases: placeLeases })
  const close = (): void => {
    for (const database of databases) database.close()
  }
  return { ...placed, returnUnits: () => placed.returnUnits(), close }
}
