import { describe, expect, it } from 'vitest'
import { addCounts, DECISIONS, holds, violationsWith } from './seeds.ts'
import { CALM } from './faults.ts'
import type { WrapperName } from './wrappers.ts'

const SEEDS = [1, 2, 3, 4, 14, 25]
const STORES: readonly WrapperName[] = ['waiting', 'waiting, cached', 'waiting, batched']

const total: Record<string, number> = {}

describe('in a world whose requests wait, nobody is let in too early or overtaken', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const outcome = await holds(seed, { wrappers: STORES[seed % STORES.length]! })
    expect(outcome.decisions).toBeGreaterThanOrEqual(DECISIONS)
    addCounts(total, outcome.lines)
  })

  it('and the judge has seen some that stand, and some that are let in', () => {
    expect(total['stood']).toBeGreaterThan(100)
    expect(total['letIn']).toBeGreaterThan(20)
  })
})

/** Changes of the bundle, each of which a judge must notice. */
const MUTANTS: readonly (readonly [what: string, from: string, to: string])[] = [
  ['who comes later goes first', 'local open = not waits or', 'local open = true or'],
  ['who was let in keeps its place', 'leaveLine(key, $text, $ticket, true)', 'local _ = 0'],
  ['it looks for ever', '#looks += 1', '#looks += 0.1'],
  ['it waits too long', 'systemClock() + waitMs', 'systemClock() + 9 * waitMs'],
]

it.each(MUTANTS)('is noticed: %s', async (_, from, to) => {
  expect(await violationsWith(from, to, { wrappers: 'waiting', weather: CALM })).not.toEqual([])
})
