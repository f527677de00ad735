import { expect, it } from 'vitest'
import { explore, Search } from './explore.ts'
import type { Leak, World } from './model/state.ts'
import { LEASES, RESERVATIONS, SWEEPS } from './worlds.ts'

/** Explores a world with a mistake in its design, and prints the shortest path to the first violation. */
function findLeak(world: World, leak: Leak): { invariant: string; path: readonly string[] } {
  const { violation } = explore(new Search({ ...world, leak }))
  if (!violation) throw new Error('nothing was found')
  console.log([`${leak}: violates "${violation.invariant}"`, ...violation.path].join('\n  '))
  return violation
}

it('finds a charge that is made after the call instead of before', () => {
  expect(findLeak(RESERVATIONS, 'charges after the call')).toEqual({
    invariant: 'charged is settled, in flight and abandoned',
    path: ['A: reserve 1 (keep) of x -> allowed'],
  })
})

it('finds a late settlement that gives back what a release has given back', () => {
  expect(findLeak(SWEEPS, 'settles a released call as if it were held')).toEqual({
    invariant: 'charged is settled, in flight and abandoned',
    path: [
      'A: reserve 1 (release) of x -> allowed',
      'B: sweep of x',
      'wait',
      'B: find of x',
      'B: release the call of A of x -> swept 1',
      'A: settle 1 of x -> applied 0',
    ],
  })
})

it('finds a settlement that acts again after its reply was lost', () => {
  expect(findLeak(RESERVATIONS, 'settles again after a lost reply')).toEqual({
    invariant: 'a settlement acts once',
    path: [
      'A: reserve 1 (keep) of x -> allowed',
      'A: settle 0 of x, reply lost -> error',
      'A: retry 0 of x -> applied 0',
    ],
  })
})

it('finds a lease that is returned twice', () => {
  expect(findLeak(LEASES, 'returns a lease twice')).toEqual({
    invariant: 'units are returned once',
    path: [
      'A: check 1 of x -> allowed',
      'A: check 1 of x -> allowed',
      'A: shut down',
      'A: return of x, reply lost',
      'A: return of x, reply lost',
    ],
  })
})

it('finds a denied request that is charged', () => {
  expect(findLeak(RESERVATIONS, 'charges a denied request')).toEqual({
    invariant: 'a denied request changes nothing',
    path: ['A: reserve 2 (keep) of x -> allowed', 'B: reserve 2 (keep) of x -> denied'],
  })
})
