import { reserving } from '@sluice/core/http'
import { describe } from 'vitest'
import { mistakesAreNamed } from '../../../support/mistakes.ts'

describe('reserving: a mistake in the arguments is an error at construction', () => {
  const loosely = reserving as (...args: unknown[]) => unknown
  mistakesAreNamed([
    ['a cost that is none', () => loosely('5'), 'reserving.cost'],
    ['an unknown option', () => loosely(1, { within: '1h' }), 'reserving.within', 'unknown_option'],
    [
      'a time that is none',
      () => loosely(1, { settleWithin: 'soon' }),
      'reserving.settleWithin',
      'invalid_duration',
    ],
  ])
})
