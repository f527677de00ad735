import type { Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { BALANCES, KIND_NAMES, KINDS, type Kind } from '../../support/kinds.ts'
import { mustReserve } from '../../core/reservations/support.ts'
import { setUp } from './case.ts'

const cost = { request: 3 }

/** Settles a charge that a reset has removed, when another like it was made in the same millisecond. */
async function settleAfterReset(store: Store, kind: Kind, actual: number) {
  const limiter = setUp(store, [KINDS[kind]('p', 12)])
  const removed = await mustReserve(limiter, ACME, { cost })
  await limiter.reset(ACME)
  const kept = await mustReserve(limiter, ACME, { cost })
  await removed.settle({ request: actual })
  const looks = [await limiter.peek(ACME)]
  await kept.settle({ request: 2 })
  looks.push(await limiter.peek(ACME))
  limiter.clock.advance(1_000)
  looks.push(await limiter.check(ACME))
  return looks.map(({ policies: [state] }) => state)
}

/** Charges that a reset removes. */
export function resets(make: () => Store): void {
  describe('what was reserved before a reset and is settled in the same millisecond', () => {
    // A reset leaves a balance as it is.
    const kinds = KIND_NAMES.filter((kind) => !BALANCES.includes(kind))
    it.each(kinds.flatMap((kind) => [0, 1, 3, 5].map((actual) => [kind, actual] as const)))(
      'counts as in memory: %s, settled at %i of 3',
      async (kind, actual) => {
        expect(await settleAfterReset(make(), kind, actual)).toEqual(
          await settleAfterReset(memory(), kind, actual),
        )
      },
    )

    it('gives nothing back of what a sliding window has counted since', async () => {
      const [looked, settled] = await settleAfterReset(make(), 'sliding window', 1)
      expect(looked).toMatchObject({ remaining: 9 })
      expect(settled).toMatchObject({ remaining: 10 })
    })
  })
}
