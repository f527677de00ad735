import {
  fixedWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Clock,
  type Policy,
} from '@sluice/core'
import type { Redis } from 'ioredis'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { interleave, type Sample } from '../measure/rounds.ts'
import { ourTraffic } from '../traffic/our-traffic.ts'
import type { Traffic } from '../traffic/record.ts'
import { populate, stateOfFirst, tenantId, type TenantState } from '../traffic/population.ts'
import { loaded, microsecondsOf } from '../traffic/replay.ts'

const TENANTS = [100, 1_000, 10_000, 100_000, 1_000_000]
const LIMITS = [20, 100, 1_000, 10_000]
/** The limit while the tenants grow, and the tenants while the limit grows. */
const [SMALL_LIMIT, FEW_TENANTS] = [20, 100]
/** A turn has a decision for each of so many tenants, evenly chosen. */
const DECISIONS = 200
/** A sample is the least of so many tries: other processes can only add to the time of a script. */
const TRIES = 5

/** The time before the measurement in which the limits were used, of their hour. */
const USED_MS = 3_000_000

const hour = { window: '1h', per: ['tenant'] } as const

/** An algorithm, by the name of its factory. */
const ALGORITHMS: Readonly<Record<string, (limit: number) => Policy>> = {
  fixedWindow: (limit) => fixedWindow({ name: 'limit', limit, ...hour }),
  tokenBucket: (limit) => tokenBucket({ name: 'limit', limit, ...hour }),
  slidingWindowCounter: (limit) => slidingWindowCounter({ name: 'limit', limit, ...hour }),
  slidingWindow: (limit) => slidingWindow({ name: 'limit', limit, ...hour }),
}

/** The time of a decision in Redis and the memory of a tenant, as tenants and limits grow. */
export const workScenario: Scenario = {
  name: 'work',
  title: 'what a decision and a tenant cost Redis',

  async run(bench) {
    const cases = [
      ...TENANTS.map((tenants) => ({ axis: 'tenants', tenants, limit: SMALL_LIMIT }) as const),
      ...LIMITS.map((limit) => ({ axis: 'limit', tenants: FEW_TENANTS, limit }) as const),
    ]
    const sides: Side[] = []
    try {
      // A database for each case, so that it has its tenants and no others.
      for (const [db, one] of cases.entries()) {
        const redis = bench.servers.redis.duplicate({ db })
        for (const algorithm of Object.keys(ALGORITHMS)) {
          sides.push(await prepare(bench, redis, { ...one, algorithm }))
        }
      }
      // Recording has removed the scripts.
      for (const side of sides) await loaded(side.redis, side.traffic)
      const values = await interleave(
        bench,
        Object.fromEntries(sides.map(({ sample }, index) => [`side ${index}`, sample])),
      )
      return rowsOf(sides, Object.values(values))
    } finally {
      for (const redis of new Set(sides.map((side) => side.redis))) redis.disconnect()
      await bench.servers.redis.flushall()
    }
  },
}

interface Case {
  readonly axis: 'tenants' | 'limit'
  readonly algorithm: string
  readonly tenants: number
  readonly limit: number
}

interface Side extends Case {
  readonly redis: Redis
  readonly traffic: Traffic
  readonly state: TenantState
  readonly sample: Sample
}

/** Fills a database with tenants that have used all of their limit but one. */
async function prepare(bench: Bench, redis: Redis, one: Case): Promise<Side> {
  const { algorithm, limit, tenants } = one
  const policy = ALGORITHMS[algorithm]?.(limit)
  if (policy === undefined) throw new Error(`No algorithm ${algorithm}`)
  const record = (ids: readonly string[], clock?: Clock) =>
    ourTraffic(bench.servers, [policy], ids, algorithm, clock)
  const first = Array.from({ length: limit - 1 }, () => tenantId(0))
  const used = await record(first, clockOver(USED_MS, limit))
  await microsecondsOf(redis, await loaded(redis, used))
  const state = await stateOfFirst(redis, algorithm)
  await populate(
    redis,
    state,
    Array.from({ length: tenants }, (_, index) => tenantId(index)),
  )
  const ids = Array.from({ length: Math.min(DECISIONS, tenants) }, (_, index) =>
    tenantId(Math.floor((index * tenants) / Math.min(DECISIONS, tenants))),
  )
  const traffic = await record(ids)
  const commands = await loaded(redis, traffic)
  const sample = async (): Promise<number> => {
    let least = Infinity
    for (let time = 0; time < TRIES; time += 1) {
      await populate(redis, state, ids)
      least = Math.min(least, await microsecondsOf(redis, commands))
    }
    return least
  }
  return { ...one, redis, traffic, state, sample }
}

/** A clock that comes to the present by so many readings, one for each request. */
function clockOver(lengthMs: number, readings: number): Clock {
  const end = Date.now()
  let reading = 0
  return () => {
    reading = Math.min(reading + 1, readings)
    return end - Math.floor((lengthMs * (readings - reading)) / readings)
  }
}

function rowsOf(sides: readonly Side[], values: readonly (readonly number[])[]): Row[] {
  const work = sides.map(({ algorithm, axis, ...at }, index): Row => ({
    title: algorithm,
    unit: 'µs',
    at: { [axis]: at[axis] },
    ours: { values: values[index] ?? [] },
  }))
  const memory = sides
    .filter(({ axis }) => axis === 'limit')
    .map(({ algorithm, limit, state }): Row => ({
      title: algorithm,
      unit: 'bytes',
      at: { limit },
      ours: { values: [state.bytes] },
    }))
  return [...work, ...memory]
}
