import { describe, expect, it } from 'vitest'
import { addTallies, DECISIONS, holds, violationsWith } from './seeds.ts'
import { CALM } from './faults.ts'
import type { WrapperName } from './wrappers.ts'

/**
 * 11 has callers that know no end of a period; 17 a reservation of leased policies alone, beside settings that are read; 61 has
 * balances that move.
 */
const SEEDS = [1, 2, 3, 4, 5, 6, 11, 17, 61]
const STORES: readonly WrapperName[] = [
  'sharded, cached',
  'sharded, moving',
  'regional',
  'sharded, moving, cached',
  'regional, cached',
  'sharded',
]

const total: Record<string, number> = {}

describe('in a world of several databases or regions, no limit, ledger, time or id is violated', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const outcome = await holds(seed, { wrappers: STORES[seed % STORES.length]! })
    expect(outcome.decisions).toBeGreaterThanOrEqual(DECISIONS)
    addTallies(total, outcome)
  })

  it('and the judges have looked at each thing', () => {
    // Reservations are not released where leases serve them.
    const unseen = Object.entries(total).filter(([, count]) => count === 0)
    expect(unseen.map(([what]) => what)).toEqual(['releases'])
  })
})

/** Changes of the bundle, each of which a judge must notice. */
const MUTANTS: readonly (readonly [what: string, from: string, to: string])[] = [
  ['a tenant that moves leaves its count behind', "and copied ~= 'none' then", 'and false then'],
  [
    'a tenant that moves leaves no fence',
    "if ttl >= 0 then redis.call('PEXPIRE', fence, ttl + lasting) end",
    "redis.call('DEL', fence)",
  ],
  ['a tenant is looked for anew each time', ' / -Math.log(', ' * Math.random() / -Math.log('],
  [
    'what leases have served is not taken',
    'putBack(entry.cost - final.cost)',
    'putBack(entry.cost)',
  ],
  ['what home counts is settled with the rest', '!areAtHome[at]', 'true'],
]

it.each(MUTANTS)('is noticed: %s', async (_, from, to) => {
  expect(
    await violationsWith(from, to, { wrappers: 'sharded, moving', weather: CALM }),
  ).not.toEqual([])
})
