import {
  createLimiter,
  fixedWindow,
  slidingWindowCounter,
  type Limiter,
  type Policy,
} from '@sluice/core'
import {
  applyConfiguration,
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
  type ConfigurationChanges,
} from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { loosely, mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { DAY, NOON } from '../../support/times.ts'
import { app, limitOf, policies, recordsApp } from './support.ts'

const make = loosely(runtimeConfiguration)
const limiterOf = (options: object): unknown =>
  loosely(createLimiter)({ store: memory(), policies: policies.slice(0, 1), ...options })
const allowing = (allow: unknown): unknown => limiterOf({ extensions: [make({ allow })] })
const limiterWith = (policy: Policy, allow?: object): unknown =>
  limiterOf({ policies: [policy], ...(allow && { extensions: [make({ allow })] }) })

const later = fixedWindow({ name: 'later', limit: 'configured', window: '1h', per: ['tenant'] })

const AT_CONSTRUCTION: Mistake[] = [
  ['no options', () => make(undefined), 'runtimeConfiguration'],
  ['no allow', () => make({}), 'runtimeConfiguration.allow'],
  ['an empty allow', () => make({ allow: {} }), 'runtimeConfiguration.allow'],
  ['a list in place of allow', () => make({ allow: ['rpm'] }), 'runtimeConfiguration.allow'],
  ['no settings', () => make({ allow: { rpm: [] } }), 'runtimeConfiguration.allow.rpm'],
  ['true for settings', () => make({ allow: { rpm: true } }), 'runtimeConfiguration.allow.rpm'],
  ['a misspelt one', () => make({ allow: { rpm: ['limits'] } }), 'runtimeConfiguration.allow.rpm'],
  [
    'one that is inherited',
    () => make({ allow: { rpm: ['constructor'] } }),
    'runtimeConfiguration.allow.rpm',
  ],
  [
    'a strange name',
    () => make({ allow: { rpm: ['limit'] }, name: 'a:b' }),
    'runtimeConfiguration.name',
  ],
  [
    'an unknown option',
    () => make({ allow: { rpm: ['limit'] }, ttl: 1 }),
    'runtimeConfiguration.ttl',
    'unknown_option',
  ],
  [
    'true for records of partitions',
    () => make({ allow: { rpm: ['limit'] }, partitions: true }),
    'runtimeConfiguration.partitions',
  ],
  [
    'null for records of partitions',
    () => make({ allow: { rpm: ['limit'] }, partitions: null }),
    'runtimeConfiguration.partitions',
  ],
  [
    'a policy that the limiter has not',
    () => allowing({ rmp: ['limit'] }),
    'runtimeConfiguration.allow.rmp',
  ],
  [
    'a burst of what is no bucket',
    () => allowing({ rpm: ['burst'] }),
    'runtimeConfiguration.allow.rpm',
  ],
  ['bare options', () => limiterOf({ extensions: [{ allow: { rpm: ['limit'] } }] }), 'extensions'],
  ['no list', () => limiterOf({ extensions: make({ allow: { rpm: ['limit'] } }) }), 'extensions'],
  ['null', () => limiterOf({ extensions: null }), 'extensions'],
  ['null in the list', () => limiterOf({ extensions: [null] }), 'extensions'],
  ['a limit to be configured, and no configuration', () => limiterWith(later), 'extensions'],
  [
    'a limit to be configured that may not be',
    () => limiterWith(later, { later: ['mode'] }),
    'extensions',
  ],
]

describe('a mistake in the allowed settings is an error that names the option', () => {
  mistakesAreNamed(AT_CONSTRUCTION)
})

const USER = { tenant: 'acme', user: 'u1' }

/** A change with what is no end, or none that is allowed. */
const endingAt = (until: unknown) => [{ rpm: { limit: 1, until } }, 'configure.rpm.until'] as const

const soon = NOON + DAY

/** A mistake, the option that must be named, and the subject of the change. */
const REFUSED: Record<string, readonly [changes: unknown, option: string, subject?: unknown]> = {
  nothing: [undefined, 'configure'],
  'no policy': [{}, 'configure'],
  'a list': [[{ limit: 1 }], 'configure'],
  'an unknown policy': [{ rmp: { limit: 1 } }, 'configure.rmp'],
  'an inherited policy': [{ constructor: { limit: 1 } }, 'configure.constructor'],
  'a policy named __proto__': [JSON.parse('{"__proto__":{"limit":1}}'), 'configure.__proto__'],
  'a number for settings': [{ rpm: 30 }, 'configure.rpm'],
  'undefined for settings': [{ rpm: undefined }, 'configure.rpm'],
  'an unknown setting': [{ rpm: { limits: 30 } }, 'configure.rpm.limits'],
  'a setting that is not allowed': [{ byUser: { mode: 'shadow' } }, 'configure.byUser.mode'],
  'the removal of one that is not': [{ byUser: { mode: null } }, 'configure.byUser.mode'],
  'a limit that is text': [{ rpm: { limit: '30' } }, 'configure.rpm.limit'],
  'a limit that is NaN': [{ rpm: { limit: Number.NaN } }, 'configure.rpm.limit'],
  'a limit below 0': [{ rpm: { limit: -1 } }, 'configure.rpm.limit'],
  'a limit with a fraction': [{ rpm: { limit: 1.5 } }, 'configure.rpm.limit'],
  'an infinite limit': [{ rpm: { limit: Infinity } }, 'configure.rpm.limit'],
  'a limit above 10^14': [{ rpm: { limit: 1e14 + 1 } }, 'configure.rpm.limit'],
  'a limit that a bucket cannot count': [{ bucket: { limit: 1e12 } }, 'configure.bucket.limit'],
  'a burst of 0': [{ bucket: { burst: 0 } }, 'configure.bucket.burst'],
  'a burst that a bucket cannot count': [{ bucket: { burst: 1e12 } }, 'configure.bucket.burst'],
  'a mode that is none': [{ rpm: { mode: 'off' } }, 'configure.rpm.mode'],
  'a share above 100': [{ rpm: { enabled: 101 } }, 'configure.rpm.enabled'],
  'a share that is NaN': [{ rpm: { enforced: Number.NaN } }, 'configure.rpm.enforced'],
  'a share of a shadow': [{ rpm: { mode: 'shadow', enforced: 50 } }, 'configure.rpm.enforced'],
  'half a global policy': [{ all: { enabled: 50 } }, 'configure.all.enabled'],
  'half a partition': [{ rpm: { enabled: 50 } }, 'configure.rpm.enabled', ACME],
  'a partition of a global policy': [{ all: { limit: 1 } }, 'configure.all', ACME],
  'an end that is undefined': endingAt(undefined),
  'an end that is now': endingAt(NOON),
  'an end in the past': endingAt(NOON - 1),
  'an end in seconds': endingAt(Math.round(soon / 1_000)),
  'an end in microseconds': endingAt(soon * 1_000),
  'an end more than 366 days from now': endingAt(NOON + 366 * DAY + 1),
  'an end that is NaN': endingAt(Number.NaN),
  'an end that never comes': endingAt(Infinity),
  'an invalid Date': endingAt(new Date('x')),
  'an end that is true': endingAt(true),
  'an end that is an object': endingAt({ at: soon }),
  'an end that is no time': endingAt('tomorrow'),
  'an empty end': endingAt(''),
  'an end without a zone': endingAt('2026-01-16T12:00:00'),
  'an end without a time': endingAt('2026-01-16'),
  'an end in words': endingAt('Fri, 16 Jan 2026 12:00:00 GMT'),
  'an end in epoch milliseconds as text': endingAt(String(soon)),
  'an end on the 30th of February': endingAt('2026-02-30T12:00Z'),
  'an end in a 13th month': endingAt('2026-13-01T12:00Z'),
  'an end in a 25th hour': endingAt('2026-01-16T25:00Z'),
  'an end and nothing else': [{ rpm: { until: soon } }, 'configure.rpm'],
  'an end of undefined': [{ rpm: { limit: undefined, until: soon } }, 'configure.rpm'],
  'a removal with an end': [{ rpm: { limit: null, until: soon } }, 'configure.rpm.limit'],
  'a temporary limit below 0': [{ rpm: { limit: -1, until: soon } }, 'configure.rpm.limit'],
  'a temporary setting that is not allowed': [
    { byUser: { mode: 'shadow', until: soon } },
    'configure.byUser.mode',
  ],
  'a temporary share of a shadow': [
    { rpm: { mode: 'shadow', enforced: 50, until: soon } },
    'configure.rpm.enforced',
  ],
  'half a partition until then': [
    { rpm: { enabled: 50, until: soon } },
    'configure.rpm.enabled',
    ACME,
  ],
  'a partition of a global policy until then': [
    { all: { limit: 1, until: soon } },
    'configure.all',
    ACME,
  ],
  'an end for all policies': [{ rpm: { limit: 1 }, until: soon }, 'configure.until'],
  'a good one before a bad one': [
    { rpm: { limit: 1 }, bucket: { burst: 0 } },
    'configure.bucket.burst',
  ],
  'a subject that is undefined': [{ rpm: { limit: 1 } }, 'subject', undefined],
  'a subject that is null': [{ rpm: { limit: 1 } }, 'subject', null],
  'a subject without the dimension': [{ rpm: { limit: 1 } }, 'subject.tenant', { user: 'u1' }],
  'one that lacks it for one of two': [
    { rpm: { limit: 1 }, byUser: { limit: 1 } },
    'subject.user',
    ACME,
  ],
  'an empty id': [{ rpm: { limit: 1 } }, 'subject.tenant', { tenant: '' }],
  'an ill-formed id': [{ rpm: { limit: 1 } }, 'subject.tenant', { tenant: '\ud800' }],
}

it.each(Object.entries(REFUSED).filter(([, [, , subject]]) => subject !== undefined))(
  'a change to a record is refused as a whole: %s',
  async (_, [changes, option, ...subject]) => {
    const limiter = recordsApp(memory()).isolate()
    await configure(limiter, { rpm: { limit: 9 } }, USER)
    const args = [limiter, changes, ...subject] as Parameters<typeof configure>
    const error: unknown = await configure(...args).catch((thrown: unknown) => thrown)
    const { option: named, input } = error as Record<string, unknown>
    expect(named ?? input).toBe(option)
    expect(await readConfiguration(limiter, USER)).toEqual([
      { policy: 'rpm', subject: ACME, settings: { limit: 9 } },
    ])
  },
)

describe('a change is refused as a whole:', () => {
  it.each(Object.entries(REFUSED))('%s', async (_, [changes, option, ...subject]) => {
    const store = memory()
    const limiter = app(store).isolate()
    await configure(limiter, { rpm: { limit: 9 } }, USER)
    const args = [limiter, changes, ...subject] as Parameters<typeof configure>
    const error: unknown = await configure(...args).catch((thrown: unknown) => thrown)
    const { code, option: named, input } = error as Record<string, unknown>
    expect(named ?? input).toBe(option)
    expect(code).toMatch(/^(invalid_option|unknown_option|invalid_subject|missing_dimension)$/)
    expect((error as Error).message).not.toMatch(/acme|u1/)
    expect(await readConfiguration(limiter)).toEqual([
      { policy: 'rpm', subject: ACME, settings: { limit: 9 } },
    ])
  })

  it('more than 1,000 partitions, which are the most that is read at once', async () => {
    const limiter = app(memory()).isolate()
    const thousand = Array.from({ length: 1_000 }, (_, index) => ({
      policy: 'rpm',
      subject: { tenant: `t${index}` },
      settings: { limit: index + 1 },
    }))
    await applyConfiguration(limiter, thousand)
    const more = configure(limiter, { rpm: { limit: 1 } }, { tenant: 'one-more' })
    await expect(more).rejects.toMatchObject({ name: 'ConfigError', code: 'configuration_full' })
    expect(await readConfiguration(limiter)).toHaveLength(1_000)
    expect(await limitOf(limiter, 'rpm', { tenant: 't999' })).toBe(1_000)
    // Where it is full, what is there may still be changed and removed.
    await configure(limiter, { rpm: { limit: 7 } }, { tenant: 't5' })
    await configure(limiter, { bucket: { limit: 7 } })
    await configure(limiter, { rpm: null }, { tenant: 't6' })
    await configure(limiter, { rpm: { limit: 1 } }, { tenant: 'one-more' })
    expect(await limitOf(limiter, 'rpm', { tenant: 't5' })).toBe(7)
    expect(await limitOf(limiter, 'rpm', { tenant: 't6' })).toBe(10)
  })

  it('but not with records, where each isolate reads only what it needs', async () => {
    const limiter = recordsApp(memory()).isolate()
    for (let index = 0; index <= 1_000; index += 1) {
      await configure(limiter, { rpm: { limit: index + 1 } }, { tenant: `t${index}` })
    }
    expect(await limitOf(limiter, 'rpm', { tenant: 't1000' })).toBe(1_001)
  })

  it('ids so long that the document would not fit', async () => {
    const limiter = app(memory()).isolate()
    const tenant = 'x'.repeat(500_000)
    await expect(configure(limiter, { rpm: { limit: 1 } }, { tenant })).rejects.toMatchObject({
      code: 'configuration_full',
    })
    expect(await readConfiguration(limiter)).toEqual([])
  })
})

it('a policy whose window is long bounds its limit at run time as in code', async () => {
  const month = slidingWindowCounter({ name: 'm', limit: 1, window: '30d', per: ['tenant'] })
  const limiter = createLimiter({
    store: memory(),
    policies: [month],
    extensions: [runtimeConfiguration({ allow: { m: ['limit'] } })],
  })
  await expect(configure(limiter, { m: { limit: 1e12 } })).rejects.toMatchObject({
    option: 'configure.m.limit',
  })
  await configure(limiter, { m: { limit: 1e6 } })
  expect((await limiter.check(ACME)).policies[0]?.limit).toBe(1e6)
})

describe('a limiter without a configuration', () => {
  const limiter = createLimiter({ store: memory(), policies: policies.slice(0, 4) })
  it.each<[string, () => Promise<unknown>]>([
    ['configure', () => configure(limiter, { rpm: { limit: 1 } })],
    ['list what is configured', () => readConfiguration(limiter)],
    ['list what one subject has', () => readConfiguration(limiter, ACME)],
    ['remove what is configured', () => removeConfiguration(limiter, ACME)],
  ])('refuses to %s and names the missing option', async (_, call) => {
    await expect(call()).rejects.toMatchObject({
      name: 'ConfigError',
      option: 'limiter',
      message: expect.stringContaining('runtimeConfiguration(…)') as string,
    })
  })
})

it.each([undefined, null, 'acme'])('the settings of %s cannot be listed', async (subject) => {
  for (const limiter of [app(memory()).isolate(), recordsApp(memory()).isolate()]) {
    const listing = readConfiguration(limiter, subject as never)
    await expect(listing).rejects.toMatchObject({ code: 'invalid_subject', input: 'subject' })
  }
})

it('types state how settings are kept', () => {
  const allow = { rpm: ['limit'] } as const
  // @ts-expect-error -- only partitionRecords creates it
  expect(() => runtimeConfiguration({ allow, partitions: 'records' })).toThrow('partitionRecords')
  expect(runtimeConfiguration({ allow, partitions: partitionRecords() }).name).toBe('configuration')
})

it('types state which settings may change', () => {
  const changes: ConfigurationChanges = {
    rpm: { limit: 1, mode: 'shadow', burst: null },
    all: null,
  }
  // @ts-expect-error -- a limit is a number or 'unlimited'
  const wrong: ConfigurationChanges = { rpm: { limit: '1' } }
  const check = (limiter: Limiter) => configure(limiter, changes, ACME)
  expect([changes, wrong, check]).toHaveLength(3)
})
