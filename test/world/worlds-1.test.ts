import { describe, expect, it } from 'vitest'
import { DECISIONS, holds } from './seeds.ts'

// The other half is in a file of its own, so that two cores share the worlds.
const SEEDS = Array.from({ length: 30 }, (_, index) => 2 * index + 1)

describe('in a world where anything can go wrong, no limit, ledger, time or id is violated', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const { decisions } = await holds(seed)
    expect(decisions).toBeGreaterThanOrEqual(DECISIONS)
  })
})
