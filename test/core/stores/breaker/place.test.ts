import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { describe, expect, it, vi } from 'vitest'
import { loosely, mistakesAreNamed, show, type Mistake } from '../../../support/mistakes.ts'

const refuse = () => expect.unreachable()
const make = loosely((options: never) => breaker(memory(), options))

describe('a mistake in the options of breaker is an error that names the option', () => {
  mistakesAreNamed([
    ['no store', () => loosely(breaker)(undefined), 'breaker.store'],
    ['a cache of denials inside it', () => breaker(cacheDenials(memory())), 'breaker.store'],
    ['a store of leases inside it', () => breaker(leased(memory())), 'breaker.store'],
    ['a breaker inside it', () => breaker(breaker(memory())), 'breaker.store'],
    ['a breaker inside a batched store', () => batched(breaker(memory())), 'batched.store'],
    ...[0, -1, 1.5, Number.NaN, Infinity, '5', null].map((failures): Mistake => [
      `failures ${show(failures)}`,
      () => make({ failures }),
      'breaker.failures',
    ]),
    ...[0, -1, 1.5, Number.NaN, Infinity, '1s', 60_001].map((pauseMs): Mistake => [
      `pauseMs ${show(pauseMs)}`,
      () => make({ pauseMs }),
      'breaker.pauseMs',
    ]),
    ['an unknown option', () => make({ pause: 5 }), 'breaker.pause', 'unknown_option'],
    ['options that are none', () => make(5), 'breaker'],
  ])
})

it.each([
  ['breaker(cacheDenials(…))', () => breaker(cacheDenials(memory()))],
  ['breaker(leased(…))', () => breaker(leased(memory()))],
  ['breaker(breaker(…))', () => breaker(breaker(memory()))],
])('%s is an error that names the order to write', (_, wrong) => {
  expect(wrong).toThrow(
    'must be the store itself or a batched one; wrap the breaker, as in leased(cacheDenials(breaker(batched(upstash()))))',
  )
})

it('batched(breaker(…)) is an error that says to wrap the batched store', () => {
  expect(() => batched(breaker(memory()))).toThrow(/wrap the batched one/)
})

it('the order that the error names is accepted', () => {
  expect(() => leased(cacheDenials(breaker(batched(memory()))))).not.toThrow()
})

it('creating a breaker calls nothing, reads no clock and starts no timer', () => {
  const store = { check: refuse, run: refuse, reset: refuse }
  const spies = [
    vi.spyOn(Date, 'now'),
    vi.spyOn(globalThis, 'setTimeout'),
    vi.spyOn(Math, 'random'),
  ]
  breaker(store)
  for (const spy of spies) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})
