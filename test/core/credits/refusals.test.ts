/* All that a balance cannot have: each is refused at construction, with the reason. */
import {
  concurrency,
  ConfigError,
  createLimiter,
  dailyCap,
  definePlans,
  localShare,
  rollout,
  type LimiterOptions,
  type Policy,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits } from '@sluice/core/credits'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { regional } from '@sluice/core/regional'
import { fairShare } from '@sluice/core/fair-share'
import { adaptiveLimit } from '@sluice/core/upstream'
import { waitingLine } from '@sluice/core/waiting'
import { describe, expect, it } from 'vitest'

const resets = calendar({ every: 'month' })
const OPTIONS = { name: 'credits', per: ['tenant'], unsettled: 'keep' } as const
const policyWith = (options: object = {}): Policy => credits({ ...OPTIONS, ...options } as never)
const limiterWith = (options: Partial<LimiterOptions> = {}) =>
  createLimiter({ store: memory(), onStoreError: 'deny', policies: [policyWith()], ...options })

/** The mistakes: an option, the way to make it, the place that the error names, and the reason. */
const MISTAKES: readonly (readonly [string, () => unknown, string, RegExp])[] = [
  ['limit', () => policyWith({ limit: 5 }), 'credits.limit', /no limit: grant its units/],
  ['window', () => policyWith({ window: '1d' }), 'credits.window', /included\.resets/],
  ['resets', () => policyWith({ resets }), 'credits.resets', /included\.resets/],
  ['stripes', () => policyWith({ stripes: 8 }), 'credits.stripes', /is one number/],
  [
    'backpressure',
    () => policyWith({ backpressure: {} }),
    'credits.backpressure',
    /no share that is used/,
  ],
  ['an unknown option', () => policyWith({ markup: 2 }), 'credits.markup', /unknown option/],
  ['nobody whose it is', () => policyWith({ per: 'global' }), 'credits.per', /whose balance it is/],
  [
    'no end of reservations',
    () => policyWith({ unsettled: undefined }),
    'credits.unsettled',
    /"keep", "release"/,
  ],
  ['a ledger with blanks', () => policyWith({ ledger: 'a b' }), 'credits.ledger', /must be/],
  ['no options', () => credits(undefined as never), 'credits', /must be an object/],

  [
    'included without resets',
    () => policyWith({ included: { amount: 5 } }),
    'credits.included.resets',
    /must be created by calendar/,
  ],
  [
    'included with another window',
    () => policyWith({ included: { amount: 5, resets: '1d' } }),
    'credits.included.resets',
    /must be created by calendar/,
  ],
  [
    'included without an amount',
    () => policyWith({ included: { resets } }),
    'credits.included.amount',
    /must be/,
  ],
  [
    'included below 0',
    () => policyWith({ included: { amount: -1, resets } }),
    'credits.included.amount',
    /whole number/,
  ],
  [
    'a rollover in dollars',
    () => policyWith({ included: { amount: 5, resets, rollover: 0.5 } }),
    'credits.included.rollover',
    /whole number/,
  ],
  [
    'an unknown option of included',
    () => policyWith({ included: { amount: 5, resets, roll: 1 } }),
    'credits.included.roll',
    /unknown option/,
  ],

  ['lease', () => lease(policyWith()), 'lease.policy', /do not come back/],
  [
    'fairShare',
    () => fairShare(policyWith(), { between: ['user'] }),
    'fairShare.policy',
    /trait slides/,
  ],
  ['waitingLine', () => waitingLine(policyWith()), 'waitingLine.policy', /trait.* balance/],
  [
    'adaptiveLimit',
    () => limiterWith({ extensions: [adaptiveLimit({ policy: 'credits', min: 1 })] }),
    'adaptiveLimit.policy',
    /trait slides or held/,
  ],
  ...(['perRegion', 'elsewhere'] as const).map(
    (name) =>
      [
        `regional, ${name}`,
        () =>
          limiterWith({
            store: regional({
              home: memory(),
              here: memory(),
              ...(name === 'perRegion' && { perRegion: ['credits'] }),
            }),
          }),
        'store',
        /spent once in each/,
      ] as const,
  ),
  ...([undefined, 'local', 'allow', localShare(0.5)] as const).map(
    (onStoreError) =>
      [
        `onStoreError ${typeof onStoreError === 'function' ? 'localShare' : String(onStoreError)}`,
        () => {
          const { onStoreError: _, ...rest } = { onStoreError: 'deny' as const }
          return createLimiter({
            ...rest,
            store: memory(),
            policies: [policyWith()],
            ...(onStoreError !== undefined && { onStoreError }),
          })
        },
        'onStoreError',
        /must be 'deny' with credits: without the store/,
      ] as const,
  ),
  [
    'one ledger in two policies',
    () => limiterWith({ policies: [policyWith(), policyWith({ name: 'other' })] }),
    'policies[1]',
    /must have a ledger of its own, such as ledger: "other": "credits" counts in "credits", too/,
  ],
  ...[Number.NaN, -1, 0.5, 'ten', undefined, null].map(
    (units) =>
      [
        `a plan that includes ${String(units)}`,
        () =>
          limiterWith({
            plans: definePlans({ team: { units: 5 } }) as never,
            policies: [policyWith({ included: { amount: () => units, resets } })],
          }),
        'policies.credits.limit for plan "team"',
        /must be/,
      ] as const,
  ),
]

describe('a balance', () => {
  it.each(MISTAKES)('cannot have %s, and says why', (_, make, option, reason) => {
    let error: unknown
    try {
      make()
    } catch (caught) {
      error = caught
    }
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ option })
    expect((error as Error).message).toMatch(reason)
  })

  it.each<[string, () => unknown]>([
    ['a rollout', () => policyWith({ rollout: rollout({ enforced: 10 }) })],
    ['shadow mode', () => policyWith({ mode: 'shadow' })],
    ['routes', () => policyWith({ routes: ['chat'] })],
    [
      'two ledgers',
      () => limiterWith({ policies: [policyWith(), policyWith({ name: 'b', ledger: 'b' })] }),
    ],
    [
      'calls in flight beside it',
      () =>
        limiterWith({
          policies: [policyWith(), concurrency({ name: 'calls', limit: 5, per: ['tenant'] })],
        }),
    ],
    [
      'a policy beside it that is leased',
      () =>
        limiterWith({
          store: leased(memory()),
          policies: [policyWith(), lease(dailyCap({ name: 'cap', limit: 5, per: ['tenant'] }))],
        }),
    ],
  ])('may have %s', (_, make) => {
    expect(make).not.toThrow()
  })
})
