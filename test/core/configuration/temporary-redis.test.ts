import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { HOUR, NOON } from '../../support/times.ts'
import { ALLOW, app, FRESH_MS, limitOf, recordsApp, type App } from './support.ts'

const until = NOON + HOUR
const END = '2026-01-15T13:00:30.000Z'

// Commands are counted, so it is shared with nobody.
const own = ownRedisOverHttp()

interface StoredApp extends App {
  /** Writes the settings of `rpm` for acme by hand. */
  readonly write: (settings: unknown) => Promise<void>
  /** Reads the stored settings of acme, by policy. */
  readonly stored: () => Promise<Record<string, unknown>>
}

/** An app over Redis whose document has the settings of partitions. */
function documentApp(): StoredApp {
  const prefix = freshPrefix()
  const key = `${prefix}:config:default`
  return {
    ...app(own.store(prefix)),
    async write(settings) {
      const text = JSON.stringify([{ policy: 'rpm', subject: ACME, settings }])
      await own.redis.hset(key, { settings: text, version: freshPrefix() })
    },
    async stored() {
      const text = (await own.redis.hget(key, 'settings')) ?? '[]'
      const entries = JSON.parse(text) as { policy: string; subject?: object; settings: unknown }[]
      const ofAcme = entries.filter(({ subject }) => JSON.stringify(subject)?.includes('acme'))
      return Object.fromEntries(ofAcme.map(({ policy, settings }) => [policy, settings]))
    },
  }
}

/** An app over Redis with a record for each partition. */
function recordApp(): StoredApp {
  const prefix = freshPrefix()
  const key = `${prefix}:config:default:tenant=acme`
  return {
    ...recordsApp(own.store(prefix)),
    write: async (settings) =>
      void (await own.redis.hset(key, { settings: JSON.stringify({ rpm: settings }) })),
    stored: async () =>
      JSON.parse((await own.redis.hget(key, 'settings')) ?? '{}') as Record<string, unknown>,
  }
}

const isDocument = (makeApp: () => StoredApp): boolean => makeApp === documentApp

describe.each([
  ['one document', documentApp],
  ['records', recordApp],
])('temporary settings in %s', (_kind, makeApp) => {
  it('are beside the lasting ones, as a readable text', async () => {
    const { isolate, stored } = makeApp()
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 20 } }, ACME)
    await configure(limiter, { rpm: { limit: 120, mode: 'shadow', until } }, ACME)
    await configure(limiter, { bucket: { burst: 9, until: new Date(until) } }, ACME)
    expect(await stored()).toEqual({
      rpm: { limit: 20, temporary: { limit: 120, mode: 'shadow', until: END } },
      bucket: { temporary: { burst: 9, until: END } },
    })
  })

  it('cost no command, no request and no write, before, at and after their end', async () => {
    const costs: unknown[] = []
    for (const change of [{ limit: 120 }, { limit: 120, until }]) {
      const { clock, isolate } = makeApp()
      const limiter = isolate()
      await configure(limiter, { rpm: change }, ACME)
      for (const time of [NOON, NOON + 1, until - 1, until, until + 1]) {
        clock.set(time)
        const before = own.local.requests
        const { calls } = await own.meter.measure(() => limiter.check(ACME))
        costs.push([time, own.local.requests - before, calls.get('hget') ?? 0, calls.get('hset')])
      }
    }
    expect(costs.slice(5)).toEqual(costs.slice(0, 5))
  })

  it('that have ended are removed by the next write, in which others stay', async () => {
    const { clock, isolate, stored } = makeApp()
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 20 } }, ACME)
    await configure(limiter, { rpm: { limit: 120, until } }, ACME)
    await configure(limiter, { later: { limit: 5, until } }, ACME)
    await configure(limiter, { bucket: { limit: 60, until: until + 1 } }, ACME)
    clock.set(until)
    expect(Object.keys(await stored())).toEqual(['rpm', 'later', 'bucket'])
    await configure(limiter, { bucket: { burst: 9 } }, ACME)
    expect(await stored()).toEqual({
      rpm: { limit: 20 },
      bucket: { burst: 9, temporary: { limit: 60, until: '2026-01-15T13:00:30.001Z' } },
    })
  })

  it('may be written by hand, as a text or in epoch milliseconds', async () => {
    for (const end of [until, END, '2026-01-15T14:00:30+01:00']) {
      const { clock, isolate, write, problems } = makeApp()
      await write({ limit: 20, temporary: { limit: 120, until: end } })
      const limiter = isolate()
      clock.set(until - 1)
      expect(await limitOf(limiter, 'rpm')).toBe(120)
      clock.set(until)
      expect(await limitOf(limiter, 'rpm')).toBe(20)
      expect(problems).toEqual([])
    }
  })

  it.each<[string, unknown, string]>([
    ['null', null, 'must be an object'],
    ['a number', 120, 'must be an object'],
    ['a list', [{ limit: 120, until: END }], 'must be an object'],
    ['without an end', { limit: 120 }, 'temporary.until: must be a Date'],
    ['with null for an end', { limit: 120, until: null }, 'temporary.until: must be a Date'],
    ['with an end without a zone', { limit: 120, until: '2026-01-15T13:00' }, 'temporary.until'],
    ['with what is no date', { limit: 120, until: 1e20 }, 'temporary.until'],
    ['with an invalid limit', { limit: -1, until: END }, 'temporary.limit: must be'],
    [
      'with a percentage of one',
      { enabled: 50, until: END },
      'temporary.enabled: must be 0 or 100',
    ],
    ['with a setting that is not allowed', { burst: 9, until: END }, 'temporary.burst: unknown'],
    ['in itself', { temporary: { limit: 9 }, until: END }, 'temporary.temporary: unknown'],
  ])('that are %s are ignored, reported and kept', async (_, temporary, message) => {
    const { isolate, write, stored, problems } = makeApp()
    await write({ limit: 20, temporary })
    const limiter = isolate()
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
    expect(await limitOf(limiter, 'rpm')).toBe(20)
    expect(problems).toMatchObject([
      { code: 'invalid_configuration', message: expect.stringContaining(message) as string },
    ])
    expect(JSON.stringify(problems)).not.toContain('acme')
    if (temporary === null) return
    await configure(limiter, { rpm: { limit: 21 } }, ACME)
    expect(await stored()).toEqual({ rpm: { limit: 21, temporary } })
    await configure(limiter, { rpm: { limit: 120, until } }, ACME)
    expect(await stored()).toEqual({ rpm: { limit: 21, temporary: { limit: 120, until: END } } })
  })

  it('apply as far as they are valid', async () => {
    const { isolate, write, problems } = makeApp()
    await write({ limit: 20, temporary: { limit: 120, mode: 'off', until: END } })
    expect(await limitOf(isolate(), 'rpm')).toBe(120)
    expect(problems).toHaveLength(1)
  })

  it('of another version that allows more stay when this one removes its own', async () => {
    const { isolate, stored } = makeApp()
    const partitions = isDocument(makeApp) ? {} : { partitions: partitionRecords() }
    const allowing = (...rpm: (typeof ALLOW)['rpm'][number][]) =>
      isolate({ extensions: [runtimeConfiguration({ allow: { ...ALLOW, rpm }, ...partitions })] })
    const [wide, narrow] = [allowing('limit', 'mode'), allowing('limit')]
    await configure(wide, { rpm: { limit: 120, mode: 'shadow', until } }, ACME)
    expect(await limitOf(narrow, 'rpm')).toBe(120)
    await removeConfiguration(narrow, ACME)
    expect(await stored()).toEqual({ rpm: { temporary: { mode: 'shadow', until: END } } })
    await removeConfiguration(wide, ACME)
    expect(await stored()).toEqual({})
  })

  it('join what a version without them has stored', async () => {
    const { clock, isolate, write, stored, problems } = makeApp()
    await write({ limit: 20 })
    const limiter = isolate()
    expect(await limitOf(limiter, 'rpm')).toBe(20)
    await configure(limiter, { rpm: { limit: 120, until } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(120)
    // As a version without them writes: it leaves what it does not know.
    await write({ ...((await stored())['rpm'] as object), limit: 21 })
    clock.advance(FRESH_MS)
    await limiter.check(ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(120)
    clock.set(until)
    expect(await limitOf(limiter, 'rpm')).toBe(21)
    expect(problems).toEqual([])
  })
})

it('1,000 partitions whose temporary limits have ended leave room for others', async () => {
  const prefix = freshPrefix()
  const { clock, isolate } = app(own.store(prefix))
  const limiter = isolate()
  const entries = Array.from({ length: 1_000 }, (_, index) => ({
    policy: 'rpm',
    subject: { tenant: `t${index}` },
    settings: { temporary: { limit: 5, until: END } },
  }))
  const settings = JSON.stringify(entries)
  await own.redis.hset(`${prefix}:config:default`, { settings, version: '1' })
  const more = () => configure(limiter, { rpm: { limit: 5 } }, ACME)
  await expect(more()).rejects.toMatchObject({ code: 'configuration_full' })
  clock.set(until)
  await more()
  expect(await readConfiguration(limiter)).toEqual([
    { policy: 'rpm', subject: ACME, settings: { limit: 5 } },
  ])
})
