import { createLimiter, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { redis as redisStore } from '@sluice/core/redis'
import { sharded } from '@sluice/core/sharded'
import { Cluster, type Redis } from 'ioredis'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { dailyAndWindow, tenants } from '../limits.ts'
import { LANES, Lanes } from '../measure/lanes.ts'
import { interleave } from '../measure/rounds.ts'
import { startClusterNode } from '../servers/cluster-node.ts'

const TENANTS = 1_000

/** The CPU of a decision by part, over one Redis, a node of a cluster, and several databases. */
export const scaleScenario: Scenario = {
  name: 'scale',
  title: `CPU of a decision over TCP by part, ${LANES} in flight, ${TENANTS.toLocaleString('en')} tenants`,

  async run(bench) {
    await using node = await startClusterNode()
    const client = bench.servers.redis.duplicate({ maxRetriesPerRequest: 0 })
    const cluster = new Cluster([{ host: '127.0.0.1', port: node.port }])
    try {
      return await measure(bench, client, cluster, node.redis)
    } finally {
      client.disconnect()
      cluster.disconnect()
    }
  },
}

async function measure(bench: Bench, client: Redis, cluster: Cluster, node: Redis): Promise<Row[]> {
  const { servers, rounds } = bench
  const one = redisStore({ client })
  const four = ['a', 'b', 'c', 'd'].map(
    (name) => [name, redisStore({ client, prefix: name })] as const,
  )
  const lanes = {
    one: new Lanes(servers, checksOn(one)),
    batched: new Lanes(servers, checksOn(batched(redisStore({ client, prefix: 'batched' })))),
    four: new Lanes(servers, checksOn(sharded(Object.fromEntries(four)))),
    cluster: new Lanes({ ...servers, redis: node }, checksOn(redisStore({ client: cluster }))),
  }
  await interleave(bench, {
    one: lanes.one.sample,
    batched: lanes.batched.sample,
    four: lanes.four.sample,
    cluster: lanes.cluster.sample,
  })
  const row = (title: string, name: 'redis' | 'client'): Row => ({
    title,
    unit: 'µs',
    ours: { values: lanes.one.values(name, rounds) },
    others: {
      'batched, one Redis': { values: lanes.batched.values(name, rounds) },
      'four databases': { values: lanes.four.values(name, rounds) },
      'a cluster': { values: lanes.cluster.values(name, rounds) },
    },
  })
  return [row('CPU of Redis', 'redis'), row('CPU of the process', 'client')]
}

function checksOn(store: Store): () => Promise<unknown> {
  const limiter = createLimiter({ store, policies: dailyAndWindow() })
  const tenant = tenants(TENANTS)
  return () => limiter.check({ tenant: tenant() })
}
