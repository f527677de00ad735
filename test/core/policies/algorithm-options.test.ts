import {
  createLimiter,
  definePlans,
  leakyBucket,
  projectLimits,
  sessionWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
} from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { describe } from 'vitest'
import { loosely, mistakesAreNamed, show, type Mistake } from '../../support/mistakes.ts'

const token = loosely(tokenBucket)
const leaky = loosely(leakyBucket)
const counter = loosely(slidingWindowCounter)
const sliding = loosely(slidingWindows)
const session = loosely(sessionWindow)
const project = loosely(projectLimits)

const good = { name: 'p', limit: 1, window: '1m', per: ['tenant'] }
const inLog = { name: 'p', per: ['tenant'] }
const one = { limit: 1, window: '1m' }

const limited = (policy: Policy) => createLimiter({ store: memory(), policies: [policy] })

const bursts = [0, -1, 1.5, Number.NaN, Infinity, 10 ** 14 + 1, '5', null, true, [5]]
const waits = [0, -1, 1.5, Number.NaN, null, '2', 'long', {}, '367d']
const segments = [0, -1, 1.5, 61, Number.NaN, '6', null, 7, 59]

const log = (window: string) =>
  slidingWindows({ name: 'p', windows: { [window]: { limit: 1, window: '1m' } }, per: 'global' })

const MISTAKES: Mistake[] = [
  ...bursts.flatMap((burst): Mistake[] => [
    [`token burst ${show(burst)}`, () => token({ ...good, burst }), 'tokenBucket.burst'],
    [`leaky burst ${show(burst)}`, () => leaky({ ...good, burst }), 'leakyBucket.burst'],
  ]),
  ...waits.flatMap((wait): Mistake[] => [
    [
      `idle ${show(wait)}`,
      () => session({ ...inLog, limit: 1, length: '5h', idle: wait }),
      'sessionWindow.idle',
      'invalid_duration',
    ],
    [
      `length ${show(wait)}`,
      () => session({ ...inLog, limit: 1, length: wait, idle: '1m' }),
      'sessionWindow.length',
      'invalid_duration',
    ],
  ]),
  ['a session without an end', () => session({ ...inLog, limit: 1 }), 'sessionWindow.length'],
  [
    'a window of a session',
    () => session({ ...good, idle: '1m' }),
    'sessionWindow.window',
    'unknown_option',
  ],
  [
    'stripes of a session',
    () => session({ ...inLog, limit: 1, idle: '1m', stripes: 2 }),
    'sessionWindow.stripes',
  ],
  [
    'stripes of a session of a length',
    () => session({ ...inLog, limit: 1, length: '1m', stripes: 2 }),
    'sessionWindow.stripes',
  ],
  ['a leaky bucket of no size', () => leaky(good), 'leakyBucket.burst'],
  ['an unknown refill', () => token({ ...good, refill: 'greedy' }), 'tokenBucket.refill'],
  ['a refill that is null', () => token({ ...good, refill: null }), 'tokenBucket.refill'],
  [
    'a wait of a token bucket',
    () => token({ ...good, wait: true }),
    'tokenBucket.wait',
    'unknown_option',
  ],
  [
    'a refill of a leaky bucket',
    () => leaky({ ...good, burst: 1, refill: 'interval' }),
    'leakyBucket.refill',
    'unknown_option',
  ],
  ['stripes of a queue', () => leaky({ ...good, burst: 9, stripes: 2 }), 'leakyBucket.stripes'],
  ...waits.map((wait): Mistake => [
    `wait ${show(wait)}`,
    () => leaky({ ...good, burst: 1, wait }),
    'leakyBucket.wait',
    'invalid_duration',
  ]),
  ...segments.map((value): Mistake => [
    `segments ${show(value)}`,
    () => counter({ ...good, segments: value }),
    'slidingWindowCounter.segments',
  ]),
  [
    'segments of a millisecond and a half',
    () => counter({ ...good, window: '3ms', segments: 2 }),
    'slidingWindowCounter.segments',
  ],
  [
    'a burst of a window',
    () => counter({ ...good, burst: 2 }),
    'slidingWindowCounter.burst',
    'unknown_option',
  ],
  [
    'a token bucket without a window',
    () => token({ ...good, window: undefined }),
    'tokenBucket.window',
    'invalid_duration',
  ],
  [
    'a leaky bucket without a window',
    () => leaky({ ...good, burst: 1, window: 0 }),
    'leakyBucket.window',
    'invalid_duration',
  ],
  [
    'a counter without a window',
    () => counter({ ...good, window: '' }),
    'slidingWindowCounter.window',
    'invalid_duration',
  ],

  // Several windows.
  ['no windows', () => sliding(inLog), 'slidingWindows.windows'],
  [
    'a window beside windows',
    () => sliding({ ...inLog, window: '1m', windows: { a: one } }),
    'slidingWindows.window',
    'unknown_option',
  ],
  [
    'a limit beside windows',
    () => sliding({ ...inLog, limit: 1, windows: { a: one } }),
    'slidingWindows.limit',
  ],
  [
    'stripes of a log',
    () => sliding({ ...inLog, stripes: 4, windows: { a: one } }),
    'slidingWindows.stripes',
  ],
  ...[undefined, null, [], [one], 7, {}].map((windows): Mistake => [
    `windows ${show(windows)}`,
    () => sliding({ ...inLog, windows }),
    'slidingWindows.windows',
  ]),
  [
    'a window that is no object',
    () => sliding({ ...inLog, windows: { a: 60 } }),
    'slidingWindows.windows.a',
  ],
  [
    'a window with a name of two words',
    () => sliding({ ...inLog, windows: { 'a b': one } }),
    'slidingWindows.windows.a b',
  ],
  [
    'an unknown option of a window',
    () => sliding({ ...inLog, windows: { a: { ...one, burst: 1 } } }),
    'slidingWindows.windows.a.burst',
    'unknown_option',
  ],
  [
    'a window without a length',
    () => sliding({ ...inLog, windows: { a: one, b: { limit: 1 } } }),
    'slidingWindows.windows.b.window',
    'invalid_duration',
  ],
  [
    'a window without a limit',
    () => sliding({ ...inLog, windows: { a: { window: '1m' } } }),
    'slidingWindows.windows.a.limit',
  ],
  [
    'a log without a name',
    () => sliding({ per: ['tenant'], windows: { a: one } }),
    'slidingWindows.name',
  ],
  [
    'names that are too long together',
    () => sliding({ ...inLog, name: 'n'.repeat(40), windows: { ['w'.repeat(40)]: one } }),
    'slidingWindows.name',
  ],
  ['a log of nobody', () => sliding({ name: 'p', windows: { a: one } }), 'slidingWindows.per'],
  ['no options for a project', () => project(null), 'projectLimits'],
  ['a minute that is no limit', () => project({ minute: 1.5 }), 'projectLimits.minute'],
  ['an hour that is no limit', () => project({ hour: '5' }), 'projectLimits.hour'],
  ['a day that is no limit', () => project({ day: null }), 'projectLimits.day'],
  ['a limit of a project', () => project({ limit: 5 }), 'projectLimits.limit'],
  ['stripes of a project', () => project({ stripes: 2 }), 'projectLimits.stripes'],
  [
    'windows of a project',
    () => project({ windows: {} }),
    'projectLimits.windows',
    'unknown_option',
  ],
  ['a week of a project', () => project({ week: 5 }), 'projectLimits.week', 'unknown_option'],
  ['a name that is none', () => project({ name: 'a b' }), 'projectLimits.name'],

  // Limits that cannot be counted exactly with such a window.
  [
    'a limit that is too large for the window',
    () => limited(tokenBucket({ name: 'p', limit: 104_249_992, window: '1d', per: 'global' })),
    'policies.p.limit',
  ],
  [
    'a burst that is too large for the window',
    () =>
      limited(tokenBucket({ name: 'p', limit: 1, burst: 10 ** 12, window: '1d', per: 'global' })),
    'policies.p.burst',
  ],
  [
    'a count that is too large for the segments',
    () =>
      limited(slidingWindowCounter({ name: 'p', limit: 104_249_992, window: '1d', per: 'global' })),
    'policies.p.limit',
  ],
  [
    'a burst that is no whole number for one plan',
    () => {
      const plans = definePlans({ free: { rpm: 1, burst: 4 }, paid: { rpm: 5, burst: 5 } })
      const policy = tokenBucket({
        name: 'p',
        limit: ({ plan }) => plan['rpm'],
        burst: ({ plan }) => Number(plan['burst']) / 2,
        window: '1m',
        per: ['tenant'],
      })
      return createLimiter({ store: memory(), policies: [policy], plans })
    },
    'policies.p.burst for plan "paid"',
  ],
  [
    'a misspelt burst of a limit that is to be configured',
    () => {
      const policy = tokenBucket({
        name: 'p',
        limit: 'configured',
        burst: ({ plan }) => plan['brust'],
        window: '1m',
        per: ['tenant'],
      })
      const plans = definePlans({ free: { burst: 5 } })
      const configuration = runtimeConfiguration({ allow: { p: ['limit'] } })
      return createLimiter({
        store: memory(),
        policies: [policy],
        plans,
        extensions: [configuration],
      })
    },
    'policies.p.burst for plan "free"',
  ],
  [
    'two logs of one name',
    () => {
      return createLimiter({ store: memory(), policies: [log('a'), log('b')] })
    },
    'policies[1]',
    'duplicate_policy',
  ],
  [
    'two logs whose windows have one name',
    () => createLimiter({ store: memory(), policies: [projectLimits(), projectLimits()] }),
    'policies[1]',
    'duplicate_policy',
  ],
]

describe('a mistake in the options of an algorithm is an error that names the option', () => {
  mistakesAreNamed(MISTAKES)
})
