import type { Redis } from 'ioredis'
import type { Bench, Scenario } from './scenario.ts'
import type { Figure, Row } from '../measure/row.ts'
import { AMPLE, tenants } from '../limits.ts'
import { peerLimiter } from '../sides/peer.ts'
import { assertAgreement } from '../reference/agreement.ts'
import { COMPARISONS, type Comparison } from '../reference/comparisons.ts'
import { replay, type Replay } from '../traffic/replay.ts'
import { interleave, type Sample } from '../measure/rounds.ts'
import { PeerRecorder, sha1, type RedisCommand, type Traffic } from '../traffic/record.ts'
import { ourTraffic } from '../traffic/our-traffic.ts'

/** The number of decisions of a replay. The second half is measured. */
const DECISIONS = 2_000
const TENANTS = 50
const TURNS = 5
/** The limit that the first half uses up. */
const SMALL = DECISIONS / 2 / TENANTS
const BAR = 1.3

/** The cost of a decision to Redis itself. */
export const scriptScenario: Scenario = {
  name: 'script',
  title: 'microseconds of Redis per decision, beside hand-written scripts',

  async run(bench) {
    const rows: Row[] = []
    for (const comparison of COMPARISONS) {
      await assertAgreement(bench.servers, comparison)
      for (const outcome of ['allowed', 'denied'] as const) {
        rows.push(await measure(bench, comparison, outcome))
      }
    }
    return rows
  },
}

async function measure(
  bench: Bench,
  comparison: Comparison,
  outcome: 'allowed' | 'denied',
): Promise<Row> {
  const limit = outcome === 'allowed' ? AMPLE : SMALL
  const { redis } = bench.servers
  const [hand, peer, ours] = [
    new Side(redis, handWrittenTraffic(comparison, limit)),
    new Side(redis, await peerTraffic(comparison, limit)),
    new Side(
      redis,
      await ourTraffic(
        bench.servers,
        comparison.policies(limit),
        Array.from({ length: DECISIONS }, tenants(TENANTS)),
      ),
    ),
  ]
  const sides = {
    hand: hand.sample,
    peer: peer.sample,
    ours: ours.sample,
  }
  const values = await interleave(bench, sides, TURNS)
  for (const side of [hand, ours]) side.expect(outcome)
  return {
    title: `${comparison.title}, ${outcome}`,
    unit: 'µs',
    ours: ours.figure(values.ours),
    others: {
      'hand-written script': { ...hand.figure(values.hand), bar: BAR },
      '@upstash/ratelimit': peer.figure(values.peer),
    },
  }
}

class Side {
  readonly #redis: Redis
  readonly #traffic: Traffic
  #last: Replay | undefined

  constructor(redis: Redis, traffic: Traffic) {
    this.#redis = redis
    this.#traffic = traffic
  }

  readonly sample: Sample = async () => {
    this.#last = await replay(this.#redis, this.#traffic, DECISIONS)
    return this.#last.microseconds
  }

  /** Throws if the measured decisions did not have this outcome. */
  expect(outcome: 'allowed' | 'denied'): void {
    const writes = this.#last?.writes ?? Number.NaN
    if (outcome === 'allowed' ? writes >= 1 : writes === 0) return
    throw new Error(`Measured ${writes} writes per decision, so they were not all ${outcome}`)
  }

  figure(values: readonly number[]): Figure {
    return { values, note: `${this.#last?.commands.toFixed(1)} commands` }
  }
}

function handWrittenTraffic({ script, call }: Comparison, limit: number): Traffic {
  const [sha, tenant] = [sha1(script), tenants(TENANTS)]
  const commands = Array.from({ length: DECISIONS }, (_, index): RedisCommand => {
    const { keys, args } = call(limit, tenant(), index.toString(36).padStart(12, 'i'))
    return ['EVALSHA', sha, keys.length, ...keys, ...args.map(String)]
  })
  return { scripts: new Map([[sha, script]]), commands }
}

async function peerTraffic({ peers }: Comparison, limit: number): Promise<Traffic> {
  const recorder = new PeerRecorder()
  const limiters = peers(limit).map((algorithm, index) =>
    peerLimiter(recorder as never, algorithm, `peer-${index}`),
  )
  const tenant = tenants(TENANTS)
  for (let index = 0; index < DECISIONS; index += 1) {
    const id = tenant()
    for (const limiter of limiters) await limiter.limit(id)
  }
  return recorder
}
