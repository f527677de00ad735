import { concurrency, dailyCap, fixedWindow, monthlyCap, slidingWindow } from '@sluice/core'
import { describe } from 'vitest'
import { loosely, mistakesAreNamed, show, type Mistake } from '../../support/mistakes.ts'

const window = loosely(slidingWindow)
const fixed = loosely(fixedWindow)
const good = { name: 'p', limit: 1, window: '1m', per: ['tenant'] }

const limits = [Number.NaN, -1, -1.5, 1.5, Infinity, '5', undefined, null, 10 ** 14 + 1, true, [5]]
const windows = [
  '1 fortnight',
  '1  m',
  '1.5m',
  '-1m',
  '',
  '60',
  'm',
  '1M',
  '0s',
  '367d',
  '9999999999999999d',
  0,
  -1,
  1.5,
  Number.NaN,
  Infinity,
  null,
  undefined,
  {},
]
const names = [undefined, '', 'a b', 'a:b', 'é', '_p', 'x'.repeat(65), 'a\n', 7, null]
const pers = [
  undefined,
  null,
  [],
  '',
  'tenant',
  'everyone',
  [''],
  ['a:b'],
  [7],
  {},
  ['tenant', null],
]

const POLICIES: Mistake[] = [
  ['no options', () => window(undefined), 'slidingWindow'],
  ['options that are a list', () => window([]), 'slidingWindow'],
  [
    'an unknown option',
    () => window({ ...good, windowMs: 1 }),
    'slidingWindow.windowMs',
    'unknown_option',
  ],
  ['a window for a cap', () => loosely(dailyCap)(good), 'dailyCap.window', 'unknown_option'],
  ['a window for a cap', () => loosely(monthlyCap)(good), 'monthlyCap.window', 'unknown_option'],
  ...limits.map((limit): Mistake => [
    `limit ${show(limit)}`,
    () => window({ ...good, limit }),
    'slidingWindow.limit',
  ]),
  ...windows.flatMap((value): Mistake[] => [
    [
      `window ${show(value)}`,
      () => window({ ...good, window: value }),
      'slidingWindow.window',
      'invalid_duration',
    ],
    [
      `window ${show(value)}`,
      () => fixed({ ...good, window: value }),
      'fixedWindow.window',
      'invalid_duration',
    ],
  ]),
  ...names.map((name): Mistake => [
    `name ${show(name)}`,
    () => window({ ...good, name }),
    'slidingWindow.name',
  ]),
  ...pers.map((per): Mistake => [
    `per ${show(per)}`,
    () => window({ ...good, per }),
    'slidingWindow.per',
  ]),
  ['a dimension twice', () => window({ ...good, per: ['a', 'b', 'a'] }), 'slidingWindow.per'],
  ['a unit of two words', () => window({ ...good, unit: 'llm token' }), 'slidingWindow.unit'],
  ...[null, 'five', 5].map((options): Mistake => [
    `options that are ${show(options)}`,
    () => loosely(concurrency)(options),
    'concurrency',
  ]),
  ['an empty scope', () => window({ ...good, scope: '' }), 'slidingWindow.scope'],
]

describe('a mistake in the options of a policy is an error that names the option', () => {
  mistakesAreNamed(POLICIES)
})
