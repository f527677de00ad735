import { calendarAlgorithm } from '@sluice/core/calendars'
import { sharesAlgorithm } from '@sluice/core/fair-share'
import { objectChoices } from '../../packages/cloudflare/dist/durable-object/object-choices.js'
import { memory } from '@sluice/core/memory'
import { redis } from '@sluice/core/redis'
import { lineAlgorithm } from '@sluice/core/waiting'
import * as fc from 'fast-check'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { gcra } from '../docs/extending/gcra.ts'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { ownRedis } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { calls } from './calls.ts'
import { limiters } from './limiters.ts'
import { counts, live, type Stores } from './live.ts'
import { stateUnder } from './redis-state.ts'

const SEED = Number(process.env['CHOICES_SEED'] ?? 20_261_129)
/** `CHOICES_DECISIONS=100000` takes a quarter of an hour. */
const DECISIONS = Number(process.env['CHOICES_DECISIONS'] ?? 1_600)
/** The calls of each limiter. */
const CALLS = 8

const own = ownRedis()
let client: Redis
beforeAll(() => {
  // Slots that are taken for good, and many stores.
  vi.spyOn(console, 'warn').mockImplementation(() => {})
  client = own.redis.duplicate({ maxRetriesPerRequest: 0 })
})
afterAll(() => {
  vi.restoreAllMocks()
  client.disconnect()
})

/** Opens stores with nothing in them; Redis over REST and over TCP in turn. */
function open(turn: number): Stores {
  const [prefix, prefixAlone] = [freshPrefix(), freshPrefix()]
  const [rule] = gcra({ name: 'own', limit: 1, window: '1m', per: 'global' })()
  const algorithms = [sharesAlgorithm, lineAlgorithm, calendarAlgorithm, rule!.algorithm]
  // Every second class is asked for one choice after the other.
  const parts = { algorithms, ...(turn % 2 === 0 && { choices: objectChoices }) }
  const inRedis = turn % 2 === 0 ? own.store(prefix) : redis({ client, prefix, timeoutMs: 30_000 })
  return {
    asked: [memory(), inRedis, storeIn(objectsInProcess(parts).namespace)],
    alone: own.store(prefixAlone),
    states: async () => [
      await stateUnder(own.redis, prefix),
      await stateUnder(own.redis, prefixAlone),
    ],
  }
}

it(`${DECISIONS} random decisions with choices are those of a limiter that is asked for one after another: in memory, Redis and objects, and only the winner's keys change`, async () => {
  let turn = 0
  await fc.assert(
    fc.asyncProperty(limiters, calls(CALLS), async (data, history) => {
      await live(open((turn += 1)), data, gcra, history)
      await own.redis.flushall()
    }),
    { seed: SEED, numRuns: Math.ceil(DECISIONS / CALLS) },
  )
  // Not only the first, and not only what fits.
  const { all, refused, fell, denied, changed, large } = counts
  expect(all + refused).toBeGreaterThanOrEqual(DECISIONS)
  expect(Math.min(fell, denied)).toBeGreaterThan(DECISIONS / 8)
  expect(Math.min(refused, changed, large)).toBeGreaterThan(DECISIONS / 200)
}, 7_200_000)
