import { describe, expect, it } from 'vitest'
import { addTallies, DECISIONS, holds, violationsWith } from './seeds.ts'
import type { WrapperName } from './wrappers.ts'

const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1)
const STORES: readonly WrapperName[] = ['objects', 'objects, cached', 'objects, breaker']

const total: Record<string, number> = {}

describe('in a world of Durable Objects, which die at any moment, no limit, ledger, time or id is violated', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const wrappers = STORES[seed % STORES.length]!
    const outcome = await holds(seed, { wrappers })
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
  ['a call is not stored', 'this.#journal.append(`${now} ${asText()}`)', 'void 0'],
  [
    'every tenth call is not stored',
    'this.#journal.append(`${now} ${asText()}`)',
    'now % 10 && this.#journal.append(`${now} ${asText()}`)',
  ],
  [
    'a snapshot is not taken whole',
    'this.#journal.replace(encode(rows))',
    'this.#journal.replace(encode(rows.slice(1)))',
  ],
  [
    'calls are made again by the time of the restart',
    'this.#do(call, Number(change.slice(0, space)))',
    'this.#do(call, this.#clock())',
  ],
  [
    'what leases have served is not taken',
    'putBack(entry.cost - final.cost)',
    'putBack(entry.cost)',
  ],
]

it.each(MUTANTS)('is noticed: %s', async (_, from, to) => {
  const weather = { trouble: 0, incidentMs: 500, deathMs: 0, skew: false }
  expect(await violationsWith(from, to, { wrappers: 'objects', weather })).not.toEqual([])
})
