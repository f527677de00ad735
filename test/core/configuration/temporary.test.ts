import { defineExtension, type Limiter } from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  resetAll,
  runtimeConfiguration,
  type SettingChanges,
} from '@sluice/core/configuration'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { countAllowed, limitsIn } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { DAY, HOUR, NOON } from '../../support/times.ts'
import { Watched } from '../../support/watched-store.ts'
import { ALLOW, app, FRESH_MS, limitOf, recordsApp } from './support.ts'

const OTHER = { tenant: 'other' }
const until = NOON + HOUR

const APPS = { 'one document': app, records: recordsApp }
const KINDS = Object.entries(APPS)

const settingsOf = async (limiter: Limiter, subject: object = ACME) =>
  (await readConfiguration(limiter, subject as typeof ACME)).map(({ settings, temporary }) => [
    settings,
    temporary?.settings,
  ])

const enforcedOf = async (limiter: Limiter) => (await limiter.peek(ACME)).policies[0]?.enforced

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  describe.each(KINDS)('a temporary limit in %s', (_, appOver) => {
    it('applies until its end in every isolate, and the lasting one from then on', async () => {
      const { clock, isolate, problems } = appOver(make())
      const [here, there, late, idle] = [isolate(), isolate(), isolate(), isolate()]
      await there.check(ACME)
      await configure(here, { rpm: { limit: 20 } }, ACME)
      await configure(here, { rpm: { limit: 120, until } }, ACME)
      expect(await limitOf(here, 'rpm')).toBe(120)
      expect(await limitOf(here, 'rpm', OTHER)).toBe(10)
      clock.advance(FRESH_MS)
      await there.check(ACME)
      clock.set(until - 1)
      for (const limiter of [here, there, late]) expect(await limitOf(limiter, 'rpm')).toBe(120)
      clock.set(until)
      for (const limiter of [here, there, late]) expect(await limitOf(limiter, 'rpm')).toBe(20)
      // Nothing has run between the change and its end.
      expect(await limitOf(idle, 'rpm')).toBe(20)
      expect(limitsIn(await idle.check(ACME))).toMatchObject({ rpm: 20 })
      expect(problems).toEqual([])
    })

    it('is listed until its end', async () => {
      const { clock, isolate } = appOver(make())
      const limiter = isolate()
      await configure(limiter, { rpm: { limit: 20 } }, ACME)
      await configure(limiter, { rpm: { limit: 120, until }, later: { limit: 3, until } }, ACME)
      clock.set(until - 1)
      expect(await readConfiguration(limiter, ACME)).toEqual([
        {
          policy: 'rpm',
          subject: ACME,
          settings: { limit: 20 },
          temporary: { settings: { limit: 120 }, until },
        },
        {
          policy: 'later',
          subject: ACME,
          settings: {},
          temporary: { settings: { limit: 3 }, until },
        },
      ])
      clock.set(until)
      expect(await readConfiguration(limiter, ACME)).toStrictEqual([
        { policy: 'rpm', subject: ACME, settings: { limit: 20 } },
      ])
    })

    it('without a lasting one ends in the limit of the policy or the code', async () => {
      const { clock, isolate } = appOver(make())
      const limiter = isolate()
      const change = { rpm: { limit: 1, until }, later: { limit: 2, until: until + HOUR } }
      await configure(limiter, change, ACME)
      expect(limitsIn(await limiter.peek(ACME))).toMatchObject({ rpm: 1, later: 2 })
      clock.set(until)
      expect(limitsIn(await limiter.peek(ACME))).toMatchObject({ rpm: 10, later: 2 })
      await configure(limiter, { rpm: { limit: 30 } })
      clock.set(until + HOUR)
      expect(await limitOf(limiter, 'rpm')).toBe(30)
      expect(await limitOf(limiter, 'later')).toBe('unconfigured')
    })

    it('of a whole policy takes precedence over its lasting one, not over that of a partition', async () => {
      const { clock, isolate } = appOver(make())
      const limiter = isolate()
      const limits = async () => [
        await limitOf(limiter, 'rpm'),
        await limitOf(limiter, 'rpm', OTHER),
      ]
      await configure(limiter, { rpm: { limit: 30 } })
      await configure(limiter, { rpm: { limit: 5 } }, ACME)
      await configure(limiter, { rpm: { limit: 60, until } })
      expect(await limits()).toEqual([5, 60])
      await configure(limiter, { rpm: { limit: 7, until: until - 1 } }, ACME)
      expect(await limits()).toEqual([7, 60])
      clock.set(until - 1)
      expect(await limits()).toEqual([5, 60])
      clock.set(until)
      expect(await limits()).toEqual([5, 30])
    })

    it('is replaced by the next one as a whole', async () => {
      const { clock, isolate } = appOver(make())
      const limiter = isolate()
      await configure(limiter, { bucket: { limit: 60, burst: 9, until } }, ACME)
      await configure(limiter, { bucket: { limit: 50, until: until - HOUR / 2 } }, ACME)
      expect((await limiter.peek(ACME)).policies[1]).toMatchObject({ limit: 50, burst: 40 })
      clock.set(until - HOUR / 2)
      expect(await limitOf(limiter, 'bucket')).toBe(30)
    })

    it('stays until its end after a lasting change, which applies from then on', async () => {
      const { clock, isolate } = appOver(make())
      const limiter = isolate()
      await configure(limiter, { bucket: { limit: 60, until } }, ACME)
      await configure(limiter, { bucket: { limit: 40, burst: 8 } }, ACME)
      expect((await limiter.peek(ACME)).policies[1]).toMatchObject({ limit: 60, burst: 8 })
      await configure(limiter, { bucket: { burst: null } }, ACME)
      expect(await settingsOf(limiter)).toEqual([[{ limit: 40 }, { limit: 60 }]])
      clock.set(until)
      expect((await limiter.peek(ACME)).policies[1]).toMatchObject({ limit: 40, burst: 40 })
    })

    it('ends now by `until: null`, which may set a lasting one', async () => {
      const { isolate } = appOver(make())
      const limiter = isolate()
      await configure(limiter, { rpm: { limit: 20 } }, ACME)
      await configure(limiter, { rpm: { limit: 120, until } }, ACME)
      await configure(limiter, { rpm: { until: null } }, ACME)
      expect(await limitOf(limiter, 'rpm')).toBe(20)
      await configure(limiter, { rpm: { limit: 120, until } }, ACME)
      await configure(limiter, { rpm: { limit: 25, until: null } }, ACME)
      expect(await limitOf(limiter, 'rpm')).toBe(25)
      expect(await settingsOf(limiter)).toEqual([[{ limit: 25 }, undefined]])
    })

    it.each<[string, (limiter: Limiter) => Promise<void>]>([
      ['null for its policy', (limiter) => configure(limiter, { rpm: null }, ACME)],
      ['removeConfiguration', (limiter) => removeConfiguration(limiter, ACME)],
      ['resetAll', (limiter) => resetAll(limiter, ACME)],
    ])('is removed with the lasting one by %s', async (_name, remove) => {
      const { isolate } = appOver(make())
      const [limiter, other] = [isolate(), isolate()]
      await configure(limiter, { rpm: { limit: 20 } }, ACME)
      await configure(limiter, { rpm: { limit: 120, until } }, ACME)
      await configure(limiter, { rpm: { limit: 120, until } }, OTHER)
      await remove(limiter)
      expect(await limitOf(limiter, 'rpm')).toBe(10)
      expect(await limitOf(other, 'rpm')).toBe(10)
      expect(await limitOf(other, 'rpm', OTHER)).toBe(120)
      expect(await settingsOf(limiter)).toEqual([])
    })

    it('and a lasting one that are set at the same moment both count', async () => {
      const { isolate } = appOver(make())
      const changes: SettingChanges[] = [{ limit: 20 }, { limit: 120, until }, { mode: 'shadow' }]
      await Promise.all(changes.map((rpm) => configure(isolate(), { rpm }, ACME)))
      expect(await settingsOf(isolate())).toEqual([[{ limit: 20, mode: 'shadow' }, { limit: 120 }]])
    })

    it('counts on: what was used above the lasting one is denied from its end on', async () => {
      const { clock, isolate } = appOver(make())
      clock.set(NOON + 60_000)
      const limiter = isolate()
      const soon = NOON + 120_000
      await configure(limiter, { rpm: { limit: 12, until: soon } }, ACME)
      expect(await countAllowed(limiter, ACME)).toBe(12)
      clock.set(soon)
      expect(await limiter.check(ACME)).toMatchObject({
        allowed: false,
        violated: { name: 'rpm', limit: 10, remaining: 0 },
      })
    })

    it('mode and enforced replace both of the lasting ones until then', async () => {
      const { clock, isolate } = appOver(make())
      const limiter = isolate()
      await configure(limiter, { rpm: { mode: 'shadow' } }, ACME)
      await configure(limiter, { rpm: { enforced: 100, until } }, ACME)
      expect(await enforcedOf(limiter)).toBe(true)
      await configure(limiter, { rpm: { mode: 'enforce', enforced: 0 } }, ACME)
      await configure(limiter, { rpm: { mode: 'enforce', until } }, ACME)
      expect(await enforcedOf(limiter)).toBe(true)
      await configure(limiter, { rpm: { limit: 3, until } }, ACME)
      expect(await enforcedOf(limiter)).toBe(false)
      await configure(limiter, { rpm: { enabled: 0, until } }, ACME)
      expect(await limitOf(limiter, 'rpm')).toBe('not_enabled')
      clock.set(until)
      expect(await limitOf(limiter, 'rpm')).toBe(10)
      expect(await enforcedOf(limiter)).toBe(false)
    })
  })

  it('a temporary limit of the document applies beside records until those have a limit', async () => {
    const store = make()
    const { clock, isolate: before } = app(store)
    const { isolate } = recordsApp(store)
    await configure(before(), { rpm: { limit: 4 } }, ACME)
    await configure(before(), { rpm: { limit: 40, until: DAY + NOON } }, ACME)
    const limiter = isolate()
    expect(await limitOf(limiter, 'rpm')).toBe(40)
    for (const { policy, subject, settings, temporary } of await readConfiguration(before())) {
      if (!subject) continue
      await configure(limiter, { [policy]: settings }, subject)
      if (!temporary) continue
      const change = { ...temporary.settings, until: temporary.until }
      await configure(limiter, { [policy]: change }, subject)
    }
    expect(await settingsOf(limiter)).toEqual([[{ limit: 4 }, { limit: 40 }]])
    await configure(limiter, { rpm: { until: null } }, ACME)
    expect(await settingsOf(before())).toEqual([[{ limit: 4 }, undefined]])
    expect(await limitOf(limiter, 'rpm')).toBe(4)
    await configure(limiter, { rpm: null }, ACME)
    clock.advance(FRESH_MS)
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    expect(await readConfiguration(limiter)).toEqual([])
  })
})

it.each(KINDS)('%s: it ends by itself while the store is down', async (_, appOver) => {
  const store = new Watched(memory())
  const { clock, isolate } = appOver(store)
  const limiter = isolate()
  await configure(limiter, { rpm: { limit: 20 } }, ACME)
  await configure(limiter, { rpm: { limit: 120, until } }, ACME)
  await limiter.check(ACME)
  store.isDown = true
  clock.set(until - 1)
  const during = await limiter.check(ACME)
  expect([during.degraded?.mode, limitsIn(during)['rpm']]).toEqual(['local', 120])
  clock.set(until)
  const after = await limiter.check(ACME)
  expect([after.degraded?.mode, limitsIn(after)['rpm']]).toEqual(['local', 20])
})

it.each(KINDS)('%s: a clock that is set right after it was ahead keeps it', async (_, appOver) => {
  const { clock, isolate } = appOver(memory())
  const limiter = isolate()
  await configure(limiter, { rpm: { limit: 120, until } }, ACME)
  clock.set(until + HOUR)
  expect(await limitOf(isolate(), 'rpm')).toBe(10)
  expect(await limitOf(limiter, 'rpm')).toBe(10)
  clock.set(NOON)
  expect(await limitOf(limiter, 'rpm')).toBe(120)
})

it('a denial that was cached until then is not repeated after its end', async () => {
  const store = new Watched(memory())
  const { clock, isolate } = app(cacheDenials(store))
  const limiter = isolate()
  const end = NOON + FRESH_MS
  await configure(limiter, { rpm: { limit: 1, until: end } }, ACME)
  expect(await countAllowed(limiter, ACME)).toBe(1)
  const { decisions } = store.calls
  expect(await limiter.check(ACME)).toMatchObject({ allowed: false, violated: { limit: 1 } })
  expect(store.calls.decisions).toBe(decisions)
  clock.set(end)
  expect(await countAllowed(limiter, ACME)).toBe(9)
})

it.each([undefined, partitionRecords()])(
  'settings of another extension apply after its end (%o)',
  async (partitions) => {
    const { clock, isolate } = app(memory())
    const configuration = runtimeConfiguration({ allow: ALLOW, ...(partitions && { partitions }) })
    const other = defineExtension({
      name: 'other',
      connect: () => ({
        before: () => ({ settings: ({ name }) => (name === 'rpm' ? { limit: 77 } : undefined) }),
      }),
    })
    const limiter = isolate({ extensions: [configuration, other] })
    await configure(limiter, { rpm: { limit: 120, until } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(120)
    clock.set(until)
    expect(await limitOf(limiter, 'rpm')).toBe(77)
  },
)

describe('an end may be', () => {
  it.each<[string, NonNullable<SettingChanges['until']>]>([
    ['a Date', new Date(until)],
    ['epoch milliseconds', until],
    ['a text in UTC', '2026-01-15T13:00:30Z'],
    ['one with milliseconds', '2026-01-15T13:00:30.000Z'],
    ['one with an offset', '2026-01-15T18:30:30+05:30'],
    ['one of the evening before', '2026-01-14T23:00:30-14:00'],
  ])('%s', async (_, end) => {
    const limiter = app(memory()).isolate()
    await configure(limiter, { rpm: { limit: 120, until: end } })
    expect((await readConfiguration(limiter))[0]?.temporary?.until).toBe(until)
  })

  it.each<[string, NonNullable<SettingChanges['until']>]>([
    ['in a millisecond', NOON + 1],
    ['without seconds, in a minute', '2026-01-15T12:01Z'],
    ['in 366 days', NOON + 366 * DAY],
  ])('%s', async (_, end) => {
    const limiter = app(memory()).isolate()
    await configure(limiter, { rpm: { limit: 120, until: end } })
    expect(await limitOf(limiter, 'rpm')).toBe(120)
  })
})

it('an end that is refused is shown as it was understood', async () => {
  const limiter = app(memory()).isolate()
  const seconds = Math.round(until / 1_000)
  await expect(configure(limiter, { rpm: { limit: 1, until: seconds } })).rejects.toThrow(
    'configure.rpm.until: must be in the future, at most 366 days from now (given: "1970-01-21',
  )
  await expect(configure(limiter, { rpm: { limit: 1, until: 'tomorrow' } })).rejects.toThrow(
    'configure.rpm.until: must be a Date, epoch milliseconds, or an ISO 8601 text with a zone, such as "2026-11-28T18:00Z" (given: "tomorrow")',
  )
})

it('types state that a temporary change sets, and that its end is defined', () => {
  const changes: SettingChanges[] = [
    { limit: 1, until: new Date() },
    { limit: null, until: null },
    { until: null },
    // @ts-expect-error -- only a lasting change removes a setting
    { limit: null, until: 1 },
    // @ts-expect-error -- an end that is undefined by mistake must not make a change last
    { limit: 1, until: undefined },
  ]
  expect(changes).toHaveLength(5)
})
