import type { Policy, Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { waitingLine } from '@sluice/core/waiting'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KINDS, type Kind } from '../../support/kinds.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { lineOver } from './line.ts'
import { LINED } from './lined.ts'

const shared = sharedRedis()

interface Step {
  readonly ms: number
  readonly act: 'check' | 'look' | 'stand' | 'leave'
  readonly who: number
  readonly longestMs: number
}

const step: fc.Arbitrary<Step> = fc.record({
  ms: fc.oneof(fc.constant(0), fc.nat(400), fc.nat(9_000), fc.nat(80_000)),
  act: fc.constantFrom('check', 'look', 'stand', 'stand', 'stand', 'leave'),
  who: fc.nat(11),
  longestMs: fc.constantFrom(300_000, 300_000, 20_000),
})

/** The answers of a store to a history of twelve tickets of four users. */
async function answersOf(store: Store, policy: Policy, steps: readonly Step[]): Promise<unknown[]> {
  const line = lineOver(store, policy)
  const answers: unknown[] = []
  for (const { ms, act, who, longestMs } of steps) {
    line.clock.advance(ms)
    const asker = { user: `u${who % 4}`, cost: 1 + (who % 3), ticket: who + 1 }
    if (act === 'check') answers.push(await line.check({ ...asker, ticket: 0 }))
    else if (act === 'look') answers.push(await line.check(asker))
    else if (act === 'stand') answers.push(await line.stand(asker, longestMs))
    else answers.push(await line.leave(asker))
  }
  return answers
}

describe.each(LINED)('a line before a %s', (kind: Kind) => {
  it('is the same in memory and in Redis, after any history', { timeout: 120_000 }, async () => {
    const histories = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 90 }),
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom(2, 6, 100),
      fc.boolean(),
      async (steps, limit, maxWaiting, takesTurns) => {
        const policy = () =>
          waitingLine(KINDS[kind]('p', limit), {
            maxWaiting,
            ...(takesTurns && { between: ['user'] }),
          })
        const [here, there] = await Promise.all(
          [memory(), shared.store()].map((store) => answersOf(store, policy(), steps)),
        )
        expect(there).toEqual(here)
      },
    )
    await fc.assert(histories, { numRuns: 60 })
  })
})
