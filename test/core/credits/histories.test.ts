import { beforeEach, describe, expect, it, vi } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { differenceIn } from './beside-oracle.ts'

/** See `docs/proofs.md`. */
const HISTORIES = Number(process.env['CREDITS_HISTORIES'] ?? 24)
const FIRST = Number(process.env['CREDITS_FIRST'] ?? 1)
const STEPS = 30

/** A store that is reached by requests plays fewer. */
const shareOf = (name: string): number => (name === 'memory' ? 1 : 1 / 4)

// Deploys side by side differ in their allowance, and are told so.
beforeEach(() => void vi.spyOn(console, 'warn').mockReturnValue())

// Regions count apart.
describe.each(STORES_TO_TEST.filter((name) => name !== 'a region over home'))(
  'a balance in a store: %s',
  (name) => {
    const make = storesOf(name)

    it('is that of the oracle after each step of a random history', async () => {
      for (let seed = FIRST; seed < FIRST + HISTORIES * shareOf(name); seed += 1) {
        expect(await differenceIn(make(), seed, STEPS)).toBeUndefined()
      }
    }, 36_000_000)
  },
)
