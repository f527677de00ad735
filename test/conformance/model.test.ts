import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { ownRedis } from '../support/running-redis.ts'
import { snapshot } from '../support/redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { events, start } from './model/history.ts'
import { replay } from './model/replay.ts'
import { replaySkewed, shortRules, skewedEvents, type SkewedEvent } from './model/skew.ts'
import { rules } from './model/rules.ts'

const SEED = 20_260_115
/** In Redis keys expire by the real clock: windows long enough for a run to end well before. */
const REDIS_LEAST_MS = 10_000

const own = ownRedis()

// A busy machine takes its time.
vi.setConfig({ testTimeout: 400_000 })

describe('random histories of checks and peeks', () => {
  it('get the decisions of a naive oracle from memory', async () => {
    expect.hasAssertions()
    await fc.assert(
      fc.asyncProperty(rules(5), start, events(60), (list, startMs, history) =>
        replay({ stores: [memory()] }, list, startMs, history),
      ),
      { seed: SEED, numRuns: 1_000 },
    )
  })

  it('get the same decisions from memory, Redis and a naive oracle, and denials change no byte', async () => {
    expect.hasAssertions()
    await fc.assert(
      fc.asyncProperty(rules(REDIS_LEAST_MS), start, events(60), async (list, startMs, history) => {
        const prefix = freshPrefix()
        const stores = [memory(), own.store(prefix)]
        const livingAt = Date.now() + REDIS_LEAST_MS
        const state = (): Promise<unknown> => snapshot(own.redis, prefix, livingAt)
        await replay({ stores, state, realExpiryMs: REDIS_LEAST_MS }, list, startMs, history)
        await own.redis.flushall()
      }),
      { seed: SEED, numRuns: 250 },
    )
  })
})

/** Lives through such histories, by clocks that differ by up to `skewMs`, with memory and Redis. */
async function liveThrough(
  skewMs: number,
  history: fc.Arbitrary<readonly SkewedEvent[]>,
  numRuns: number,
): Promise<void> {
  const property = fc.asyncProperty(
    shortRules,
    start,
    history,
    async (list, startMs, happening) => {
      const redisStore = own.store()
      const options = { skewMs, realExpiryMs: REDIS_LEAST_MS }
      await replaySkewed([memory(), redisStore], list, startMs, happening, options)
      await own.redis.flushall()
    },
  )
  await fc.assert(property, { seed: SEED, numRuns })
}

describe('random histories by clocks that step back', () => {
  // The second skew is longer than the windows, where agreement is all that can be asked.
  it.each([2_000, 25_000])(
    'by up to %i ms get the same decisions from memory and Redis, and a shorter window never overflows',
    async (skewMs) => {
      expect.hasAssertions()
      await liveThrough(skewMs, skewedEvents(skewMs), 80)
    },
  )

  it('while limits change all the time get the same decisions from memory and Redis', async () => {
    expect.hasAssertions()
    await liveThrough(2_000, skewedEvents(2_000, [0.3, 0.5, 1, 2, 5]), 60)
  })
})
