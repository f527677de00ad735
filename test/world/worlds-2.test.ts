import { describe, expect, it } from 'vitest'
import { addTallies, DECISIONS, holds, WORLDS } from './seeds.ts'

// The other half is in a file of its own, so that two cores share the worlds.
const SEEDS = Array.from({ length: WORLDS / 2 }, (_, index) => 2 * index + 2)

const total: Record<string, number> = {}

describe('in a world where anything can go wrong, no limit, ledger, time or id is violated', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const outcome = await holds(seed)
    expect(outcome.decisions).toBeGreaterThanOrEqual(DECISIONS)
    addTallies(total, outcome)
  })

  it('and the judges have looked at each thing', () => {
    expect(Object.entries(total).filter(([, count]) => count === 0)).toEqual([])
  })
})
