import type { Row } from '../measure/row.ts'
import type { Scenario } from './scenario.ts'
import type { ObjectsJob } from '../../objects/worker.ts'
import { interleave, quantile, type Sample } from '../measure/rounds.ts'
import { startObjectsWorker, type ObjectsWorker } from '../servers/objects-worker.ts'

const LANES = 32
const ONE: Omit<ObjectsJob, 'store'> = { tenants: 1, lanes: 1, calls: 200 }
const MANY: Omit<ObjectsJob, 'store'> = { tenants: 64, lanes: LANES, calls: 20 }
const KEYS = { ...MANY, looksUpKeys: true }
const REST = 'upstash()'

/** Decisions of a Worker in workerd, in Durable Objects and over Upstash's protocol. */
export const objectsScenario: Scenario = {
  name: 'objects',
  title: 'a daily cap and a window, decided in Durable Objects in workerd',

  async run(bench) {
    await using worker = await startObjectsWorker(bench.servers)
    const timed =
      (share: number, store: ObjectsJob['store']): Sample =>
      async () =>
        quantile(await worker.run({ ...ONE, store }), share)
    const figures = await interleave(bench, {
      mean: async () => 1_000 / (await perSecond(worker, { ...ONE, store: 'objects' })()),
      restMean: async () => 1_000 / (await perSecond(worker, { ...ONE, store: 'upstash' })()),
      p99: timed(0.99, 'objects'),
      restP99: timed(0.99, 'upstash'),
      many: perSecond(worker, { ...MANY, store: 'objects' }),
      restMany: perSecond(worker, { ...MANY, store: 'upstash' }),
      one: perSecond(worker, { ...MANY, tenants: 1, store: 'objects' }),
      restOne: perSecond(worker, { ...MANY, tenants: 1, store: 'upstash' }),
      keys: perSecond(worker, { ...KEYS, store: 'objects' }),
      restKeys: perSecond(worker, { ...KEYS, store: 'upstash' }),
    })
    const row = (
      title: string,
      unit: Row['unit'],
      ours: keyof typeof figures,
      other: keyof typeof figures,
    ): Row => ({
      title,
      unit,
      ours: { values: figures[ours] },
      others: { [REST]: { values: figures[other] } },
    })
    return [
      row('one after the other', 'ms', 'mean', 'restMean'),
      row('one after the other, p99, in whole ms', 'ms', 'p99', 'restP99'),
      row(`${LANES} in flight, 64 tenants`, 'decisions/s', 'many', 'restMany'),
      row(`${LANES} in flight, one tenant`, 'decisions/s', 'one', 'restOne'),
      row(`${LANES} look-ups of keys in flight, in home`, 'look-ups/s', 'keys', 'restKeys'),
    ]
  },
}

const perSecond =
  (worker: ObjectsWorker, job: ObjectsJob): Sample =>
  async () => {
    const start = performance.now()
    const { length } = await worker.run(job)
    return (length * 1_000) / (performance.now() - start)
  }
