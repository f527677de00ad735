import { describe, expect, it } from 'vitest'
import { CALM } from './faults.ts'
import { addCounts, DECISIONS, holds, violationsWith } from './seeds.ts'
import type { WrapperName } from './wrappers.ts'

const SEEDS = [1, 2, 3, 18, 22, 23]
const STORES: readonly WrapperName[] = ['sharing', 'sharing, cached', 'sharing, batched']

const total: Record<string, number> = {}

describe('in a world whose tenants share limits, each gets its part, and the headroom is never lent', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const outcome = await holds(seed, { wrappers: STORES[seed % STORES.length]! })
    expect(outcome.decisions).toBeGreaterThanOrEqual(DECISIONS)
    addCounts(total, outcome.shares)
  })

  it('and the judge has seen some that are let in by their part alone, and some that are denied', () => {
    expect(total['inPart']).toBeGreaterThan(100)
    expect(total['denials']).toBeGreaterThan(500)
  })
})

/** Changes of the bundle, each of which a judge must notice. */
const MUTANTS: readonly (readonly [what: string, from: string, to: string])[] = [
  ['parts are equal, whatever the weights', 'room * claim.weight / parts', 'room / parts'],
  [
    'guarantees are forgotten',
    'return claim.guarantee + room * claim.weight',
    'return room * claim.weight',
  ],
  ['nobody new may begin', 'used == 0 and limit or', 'used == 0 and later > 0 and limit or'],
  ['the headroom is lent', 'limit - math.min(headroom', 'limit - 0 * math.min(headroom'],
  ['a part is taken twice', 'total + math.floor(part)', 'total + 2 * math.floor(part)'],
  ['a denial is to be retried too soon', 'later == 0 and -1 or', 'later == 0 and -1 or 1 or'],
  ['what is settled stays charged', 'member.counts[age] + applied', 'member.counts[age]'],
]

it.each(MUTANTS)('is noticed: %s', async (_, from, to) => {
  expect(await violationsWith(from, to, { wrappers: 'sharing', weather: CALM })).not.toEqual([])
})
