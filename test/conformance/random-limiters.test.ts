import { calendarAlgorithm } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { ownRedis } from '../support/running-redis.ts'
import { inClusterOrDatabases } from '../support/stores.ts'
import { events, start } from './model/history.ts'
import { replay } from './model/replay.ts'
import { rules } from './model/rules.ts'

const SEED = 20_260_116
const LIMITERS = 3_000
/** In Redis keys expire by the real clock: windows long enough for a history to end well before. */
const REDIS_LEAST_MS = 10_000

const own = ownRedis()
const inPlaces = inClusterOrDatabases()

it(`${LIMITERS} limiters, each of policies of its own, decide alike in memory, in Redis, in objects, in a cluster or databases, and by a naive oracle`, async () => {
  const lengths: number[] = []
  await fc.assert(
    fc.asyncProperty(rules(REDIS_LEAST_MS), start, events(5), async (list, startMs, history) => {
      lengths.push(list.length)
      const stores = [
        memory(),
        own.store(),
        storeIn(objectsInProcess({ algorithms: [calendarAlgorithm] }).namespace),
        inPlaces(),
      ]
      await replay({ stores, realExpiryMs: REDIS_LEAST_MS }, list, startMs, history)
    }),
    { seed: SEED, numRuns: LIMITERS },
  )
  expect(lengths).toHaveLength(LIMITERS)
  // Not only small ones.
  expect(lengths.filter((length) => length >= 6).length).toBeGreaterThan(LIMITERS / 4)
}, 400_000)
