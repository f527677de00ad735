import { createLimiter, fixedWindow } from '@sluice/core'
import { redis as redisStore } from '@sluice/core/redis'
import type { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { AMPLE, tenants } from '../limits.ts'
import { callsPerSecond, interleave, sequential } from '../measure/rounds.ts'

const CALLS = 200
const LANES = 64
const CALLS_OF_A_LANE = 50
const TURNS = 3

type Call = () => Promise<unknown>

/** Decisions over TCP, by one client of `ioredis`. */
export const tcpScenario: Scenario = {
  name: 'tcp',
  title: 'a fixed window over TCP',

  async run(bench) {
    const client = bench.servers.redis.duplicate({ maxRetriesPerRequest: 0 })
    try {
      const calls = await callsOf(client)
      return [
        await measure(bench, calls, 'one after the other', 'ms', (call) => sequential(CALLS, call)),
        await measure(bench, calls, `${LANES} in flight`, 'decisions/s', (call) =>
          callsPerSecond(LANES, CALLS_OF_A_LANE, call),
        ),
      ]
    } finally {
      client.disconnect()
    }
  },
}

async function callsOf(client: Redis): Promise<Record<'bare' | 'ours' | 'peer', Call>> {
  const sha = (await client.script('LOAD', 'return 1')) as string
  const limiter = createLimiter({
    store: redisStore({ client }),
    policies: [fixedWindow({ name: 'hour', limit: AMPLE, window: '1h', per: ['tenant'] })],
  })
  const peer = new RateLimiterRedis({ storeClient: client, points: AMPLE, duration: 3_600 })
  const tenant = tenants()
  return {
    bare: () => client.evalsha(sha, 0),
    ours: () => limiter.check({ tenant: tenant() }),
    peer: () => peer.consume(tenant()),
  }
}

async function measure(
  bench: Bench,
  { bare, ours, peer }: Record<'bare' | 'ours' | 'peer', Call>,
  title: string,
  unit: Row['unit'],
  take: (call: Call) => Promise<number>,
): Promise<Row> {
  const values = await interleave(
    bench,
    { bare: () => take(bare), ours: () => take(ours), peer: () => take(peer) },
    TURNS,
  )
  return {
    title,
    unit,
    ours: { values: values.ours },
    others: {
      'bare EVALSHA': { values: values.bare },
      'rate-limiter-flexible': { values: values.peer },
    },
  }
}
