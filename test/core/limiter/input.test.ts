import { inspect } from 'node:util'
import {
  createLimiter,
  dailyCap,
  InputError,
  slidingWindow,
  type CheckOptions,
  type Limiter,
  type Subject,
} from '@sluice/core'
import { beforeAll, describe, expect, it } from 'vitest'
import { snapshot } from '../../support/redis.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'

const ACME = { tenant: 'acme', route: 'evaluate' }
const VALUE = 'value-that-nobody-may-see'

/** The arguments of a check, the code, and the input that must be named. */
type Row = readonly [claim: string, subject: unknown, options: unknown, code: string, input: string]

const cost = (value: unknown): unknown => ({ cost: { token: value } })
const some = { cost: { token: 1 } }

const COSTS: Row[] = [
  ...[
    -1,
    Number.NaN,
    0.5,
    Infinity,
    -Infinity,
    10 ** 14 + 1,
    2 ** 63,
    '5',
    null,
    true,
    [5],
    {},
  ].map((value): Row => [
    `cost ${inspect(value)}`,
    ACME,
    cost(value),
    'invalid_cost',
    'cost.token',
  ]),
  ['an unknown unit', ACME, { cost: { token: 1, usd: 1 } }, 'invalid_cost', 'cost'],
  ['an unknown unit alone', ACME, { cost: { tokens: 1 } }, 'invalid_cost', 'cost'],
  ['a unit of Object.prototype', ACME, { cost: { token: 1, toString: 1 } }, 'invalid_cost', 'cost'],
  ['a missing unit', ACME, undefined, 'invalid_cost', 'cost.token'],
  ['a missing unit beside requests', ACME, { cost: 3 }, 'invalid_cost', 'cost.token'],
  ['a unit that is undefined', ACME, cost(undefined), 'invalid_cost', 'cost.token'],
  [
    'requests that are undefined',
    ACME,
    { cost: { request: undefined, token: 1 } },
    'invalid_cost',
    'cost.request',
  ],
  [
    'requests that are negative',
    ACME,
    { cost: { request: -1, token: 1 } },
    'invalid_cost',
    'cost.request',
  ],
  ['a list of costs', ACME, { cost: [1] }, 'invalid_cost', 'cost'],
  ['a cost that is null', ACME, { cost: null }, 'invalid_cost', 'cost'],
  ['a cost that is text', ACME, { cost: VALUE }, 'invalid_cost', 'cost'],
  ['a misspelt option', ACME, { costs: { token: 5 } }, 'invalid_cost', 'options'],
  ['a cost in place of the options', ACME, 5, 'invalid_cost', 'options'],
  ['options that are null', ACME, null, 'invalid_cost', 'options'],
]

const SUBJECTS: Row[] = [
  ...[null, undefined, VALUE, 7].map((subject): Row => [
    `subject ${String(subject)}`,
    subject,
    some,
    'invalid_subject',
    'subject',
  ]),
  ['no dimension', {}, some, 'missing_dimension', 'subject.tenant'],
  ['a missing dimension', { tenant: VALUE }, some, 'missing_dimension', 'subject.route'],
  [
    'a dimension that is null',
    { tenant: VALUE, route: null },
    some,
    'missing_dimension',
    'subject.route',
  ],
  ...['', '\ud800', `${VALUE}\udfff`, 7, true, {}, [VALUE], Symbol.iterator, () => VALUE].map(
    (tenant): Row => [
      `tenant ${inspect(tenant)}`,
      { tenant, route: VALUE },
      some,
      'invalid_subject',
      'subject.tenant',
    ],
  ),
]

const shared = sharedRedisOverHttp()
let limiter: Limiter
const prefix = freshPrefix()

beforeAll(async () => {
  limiter = createLimiter({
    store: shared.store(prefix),
    policies: [
      dailyCap({ name: 'daily', limit: 10, per: ['tenant'] }),
      slidingWindow({
        name: 'tpm',
        limit: 10,
        window: '1h',
        per: ['tenant', 'route'],
        unit: 'token',
      }),
    ],
  })
  await limiter.check(ACME, some)
})

describe('invalid input', () => {
  it.each([...COSTS, ...SUBJECTS].map(([claim, ...row]) => ({ claim, row })))(
    '$claim: is an error that names it, and charges nothing',
    async ({ row: [subject, options, code, input] }) => {
      const before = await snapshot(shared.redis, prefix)
      const { requests } = shared.local
      for (const ask of ['check', 'peek'] as const) {
        const error: unknown = await limiter[ask](
          subject as Subject,
          options as CheckOptions,
        ).catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(InputError)
        expect(error).toMatchObject({ code, input })
        expect((error as Error).message).not.toContain(VALUE)
      }
      expect(shared.local.requests).toBe(requests)
      expect(await snapshot(shared.redis, prefix)).toEqual(before)
    },
  )

  // Without a route, a reset is of all that are known.
  const resets = SUBJECTS.filter(([claim]) => claim !== 'a missing dimension')

  it.each(resets.map(([claim, ...row]) => ({ claim, row })))(
    '$claim: is refused by reset, too',
    async ({ row: [subject, , code, input] }) => {
      await expect(limiter.reset(subject as Subject)).rejects.toMatchObject({ code, input })
    },
  )
})

it.each([Number.NaN, -1, Infinity, 'now'])(
  'a clock that returns %s is an error at the check',
  async (now) => {
    const broken = createLimiter({
      store: shared.store(),
      policies: [dailyCap({ name: 'daily', limit: 1, per: 'global' })],
      clock: () => now as number,
    })
    await expect(broken.check({})).rejects.toMatchObject({ name: 'ConfigError', option: 'clock' })
  },
)

it('a clock that returns fractions is read in whole milliseconds', async () => {
  const fine = createLimiter({
    store: shared.store(),
    policies: [dailyCap({ name: 'daily', limit: 1, per: 'global' })],
    clock: () => 86_400_000 - 10_000.5,
  })
  expect(await fine.check({})).toMatchObject({
    allowed: true,
    at: 86_389_999,
    policies: [{ resetMs: 10_001 }],
  })
})
