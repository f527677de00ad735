import { slidingWindow, type Policy } from '@sluice/core'
import { fairShare } from '@sluice/core/fair-share'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { interleave, type Sample } from '../measure/rounds.ts'
import { ourTraffic } from '../traffic/our-traffic.ts'
import { tenantId } from '../traffic/population.ts'
import { loaded, microsecondsOf } from '../traffic/replay.ts'

const TENANTS = [10, 100, 1_000]
/** A sample is the least of so many tries: other processes can only add to the time of a script. */
const TRIES = 5
const HOUR_MS = 3_600_000
const TENTH_MS = HOUR_MS / 10
/** The most tenants whose decisions are measured. */
const DECISIONS = 200

const WINDOW = { name: 'shared', limit: 1_000_000, window: '1h', per: 'global' } as const
const ALONE = [slidingWindow(WINDOW)]
const SHARED = [fairShare(slidingWindow(WINDOW), { between: ['tenant'] })]

/** The time of a decision in Redis as more tenants share one limit, and the memory of their shares. */
export const sharesScenario: Scenario = {
  name: 'shares',
  title: 'what it costs Redis to divide a limit',

  async run(bench) {
    const sides: Record<string, { title: string; tenants: number; sample: Sample }> = {}
    const bytes: Row[] = []
    // Recording removes all scripts, so each is loaded again before the measurement.
    const loads: (() => Promise<void>)[] = []
    for (const tenants of TENANTS) {
      const alone = await record(bench, ALONE, tenants, `alone-${tenants}`)
      const shared = await record(bench, SHARED, tenants, `shares-${tenants}`)
      loads.push(
        () => alone.load(),
        () => shared.load(),
      )
      const titled = {
        'slidingWindow alone': alone.next,
        'with fairShare': shared.next,
        'with fairShare, the first of a tenth': shared.firstOfTenth,
      }
      for (const [title, sample] of Object.entries(titled)) {
        sides[`${title} ${tenants}`] = { title, tenants, sample }
      }
      bytes.push({
        title: 'the shares',
        unit: 'bytes',
        at: { tenants },
        ours: { values: [await shared.bytes()] },
      })
    }
    for (const load of loads) await load()
    const samples = Object.fromEntries(
      Object.entries(sides).map(([key, { sample }]) => [key, sample]),
    )
    const values = await interleave(bench, samples)
    await bench.servers.redis.flushall()
    return [
      ...Object.entries(sides).map(([key, { title, tenants }]): Row => ({
        title,
        unit: 'µs',
        at: { tenants },
        ours: { values: values[key] ?? [] },
      })),
      ...bytes,
    ]
  },
}

/** Records a decision of each tenant in one tenth of an hour, another in the same one, and one in the next. */
async function record(bench: Bench, policies: readonly Policy[], tenants: number, prefix: string) {
  const { redis } = bench.servers
  const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const at = (ids: readonly string[], now: number) =>
    ourTraffic(bench.servers, policies, ids, prefix, () => now)
  const ids = Array.from({ length: tenants }, (_, index) => tenantId(index))
  const some = ids.slice(0, DECISIONS)
  const recorded = [
    await at(ids, start),
    await at(some, start + 1),
    await at(some.slice(0, 1), start + TENTH_MS),
  ]
  let [fill, next, first] = await Promise.all(recorded.map((traffic) => loaded(redis, traffic)))

  async function filled(): Promise<void> {
    const keys = await redis.keys(`${prefix}:*`)
    if (keys.length > 0) await redis.del(keys)
    await microsecondsOf(redis, fill ?? [])
  }
  const least =
    (commands: () => NonNullable<typeof fill>): Sample =>
    async () => {
      let best = Infinity
      for (let time = 0; time < TRIES; time += 1) {
        await filled()
        best = Math.min(best, await microsecondsOf(redis, commands()))
      }
      return best
    }
  return {
    async load() {
      ;[fill, next, first] = await Promise.all(recorded.map((traffic) => loaded(redis, traffic)))
    },
    async bytes() {
      await filled()
      const [key = ''] = await redis.keys(`${prefix}:shared.share:*`)
      return (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? Number.NaN
    },
    next: least(() => next ?? []),
    firstOfTenth: least(() => first ?? []),
  }
}
