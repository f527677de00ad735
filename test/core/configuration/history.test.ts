import {
  applyConfiguration,
  compareConfiguration,
  compareUndo,
  configure,
  configureAs,
  readConfiguration,
  readHistory,
  undoConfiguration,
  type DesiredEntry,
} from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { HOUR, NOON } from '../../support/times.ts'
import { app, FRESH_MS, limitOf, recordsApp } from './support.ts'

const OTHER = { tenant: 'other' }
const LIMIT_30: DesiredEntry = { policy: 'rpm', settings: { limit: 30 } }
const ACME_5: DesiredEntry = { policy: 'rpm', subject: ACME, settings: { limit: 5 } }

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it('tells who has changed what, when and why, the newest first', async () => {
    const { clock, isolate } = app(make())
    const limiter = isolate()
    expect(await readHistory(limiter)).toEqual([])
    await configure(limiter, { rpm: { limit: 30 } })
    clock.advance(1_000)
    const author = { by: 'ann', note: 'their launch' }
    await configureAs(author, limiter, { rpm: { limit: 120, until: NOON + HOUR } }, ACME)
    // A call that changes nothing is no change.
    await configure(limiter, { rpm: { limit: 30 } })
    const temporary = { limit: 120, until: new Date(NOON + HOUR).toJSON() }
    expect(await readHistory(limiter)).toEqual([
      {
        version: expect.any(String),
        at: NOON + 1_000,
        ...author,
        changes: [{ policy: 'rpm', subject: ACME, to: { temporary } }],
      },
      {
        version: expect.any(String),
        at: NOON,
        changes: [{ policy: 'rpm', to: { limit: 30 } }],
      },
    ])
  })

  it('makes the settings those of a list, in every isolate, and leaves temporary changes', async () => {
    const { clock, isolate } = app(make())
    const [here, there] = [isolate(), isolate()]
    await there.check(ACME)
    await configure(here, { rpm: { limit: 40 }, all: { limit: 900 } })
    await configure(here, { rpm: { limit: 8 } }, OTHER)
    await configure(here, { bucket: { limit: 60, until: NOON + HOUR } })
    const { version, changes } = await compareConfiguration(here, [LIMIT_30, ACME_5])
    expect(changes).toEqual([
      { policy: 'rpm', from: { limit: 40 }, to: { limit: 30 } },
      { policy: 'all', from: { limit: 900 } },
      { policy: 'rpm', subject: OTHER, from: { limit: 8 } },
      { policy: 'rpm', subject: ACME, to: { limit: 5 } },
    ])
    expect(await limitOf(here, 'rpm')).toBe(40)
    const made = await applyConfiguration(here, [LIMIT_30, ACME_5], { version, by: 'ann' })
    expect(made).toMatchObject({ by: 'ann', changes })
    expect(await readHistory(here)).toHaveLength(4)
    clock.advance(FRESH_MS)
    await there.check(ACME)
    expect(await limitOf(there, 'rpm')).toBe(5)
    expect(await limitOf(there, 'rpm', OTHER)).toBe(30)
    expect(await limitOf(there, 'all')).toBe(1_000)
    expect(await limitOf(there, 'bucket')).toBe(60)
    expect(await applyConfiguration(here, [LIMIT_30, ACME_5])).toBeUndefined()
    expect((await compareConfiguration(here, [LIMIT_30, ACME_5])).changes).toEqual([])
  })

  it('changes nothing if somebody was faster', async () => {
    const { isolate } = app(make())
    const [here, there] = [isolate(), isolate()]
    const { version } = await compareConfiguration(here, [LIMIT_30])
    expect(version).toBe('')
    await configure(there, { rpm: { limit: 7 } })
    const late = applyConfiguration(here, [LIMIT_30], { version })
    await expect(late).rejects.toMatchObject({ code: 'store_conflict' })
    expect(await limitOf(here, 'rpm')).toBe(7)
  })

  it('takes changes back, one after another, and not what has changed since', async () => {
    const { clock, isolate } = app(make())
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 20 } })
    await configure(limiter, { rpm: { limit: 40 } }, ACME)
    const applied = await applyConfiguration(limiter, [LIMIT_30])
    expect(await limitOf(limiter, 'rpm')).toBe(30)
    const undone = await undoConfiguration(limiter, { by: 'ann' })
    expect(undone).toMatchObject({ by: 'ann', undoes: applied?.version })
    expect(await limitOf(limiter, 'rpm')).toBe(40)
    expect(await limitOf(limiter, 'rpm', OTHER)).toBe(20)
    const [undo, taken, before] = await readHistory(limiter)
    expect([undo?.undoes, taken?.undoneBy]).toEqual([applied?.version, undo?.version])
    expect(before).not.toHaveProperty('undoneBy')
    await undoConfiguration(limiter)
    expect(await limitOf(limiter, 'rpm')).toBe(20)
    await undoConfiguration(limiter)
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    expect(await undoConfiguration(limiter)).toBeUndefined()
    expect(await readConfiguration(limiter)).toEqual([])
    // A temporary change that has ended meanwhile stays ended.
    await configure(limiter, { rpm: { limit: 120, until: NOON + HOUR } })
    await configure(limiter, { rpm: { limit: 50 } })
    clock.set(NOON + HOUR)
    await undoConfiguration(limiter)
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    await configure(limiter, { rpm: { limit: 25 } })
    await configure(limiter, { rpm: { limit: 120, until: NOON + 2 * HOUR } })
    clock.set(NOON + 2 * HOUR)
    // Of a change that has ended nothing is left: the one before it is taken back.
    expect((await compareUndo(limiter))?.changes).toEqual([{ policy: 'rpm', from: { limit: 25 } }])
    await undoConfiguration(limiter)
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    expect(await compareUndo(limiter)).toBeUndefined()
    await configure(limiter, { rpm: { limit: 6 } })
    await configure(limiter, { rpm: { limit: 7 } })
    await undoConfiguration(limiter)
    await configure(limiter, { rpm: { limit: 9 } })
    await undoConfiguration(limiter)
    expect(await limitOf(limiter, 'rpm')).toBe(6)
  })

  it('of twenty operators at once, each is in the history', async () => {
    const { isolate } = app(make())
    const limiters = Array.from({ length: 20 }, () => isolate())
    await Promise.all(
      limiters.map((limiter, index) =>
        configureAs(
          { by: `n${index}` },
          limiter,
          { rpm: { limit: index + 1 } },
          { tenant: `t${index}` },
        ),
      ),
    )
    const history = await readHistory(isolate())
    expect(new Set(history.map(({ by }) => by)).size).toBe(20)
    expect(await readConfiguration(isolate())).toHaveLength(20)
    // Each takes back another change.
    await Promise.all(limiters.map((limiter) => undoConfiguration(limiter)))
    expect(await readConfiguration(isolate())).toEqual([])
    const undone = (await readHistory(isolate())).flatMap(({ undoes }) => undoes ?? [])
    expect(new Set(undone)).toEqual(new Set(history.map(({ version }) => version)))
    expect(undone).toHaveLength(20)
  })
})

const long = (more: number) =>
  Array.from({ length: 900 }, (_, index) => ({
    policy: 'rpm',
    subject: { tenant: `a-tenant-with-a-long-name-${index}` },
    settings: { limit: index + more },
  }))

describe('a history', () => {
  it('keeps the last hundred changes, within 100,000 characters', async () => {
    const { isolate } = app(memory())
    const limiter = isolate()
    for (let limit = 1; limit <= 110; limit += 1) await configure(limiter, { rpm: { limit } })
    const history = await readHistory(limiter)
    expect(history).toHaveLength(100)
    expect(history.at(-1)?.changes[0]).toMatchObject({ from: { limit: 10 }, to: { limit: 11 } })
    await applyConfiguration(limiter, long(0))
    await applyConfiguration(limiter, long(1))
    // The last one is kept, however long it is.
    expect(await readHistory(limiter)).toHaveLength(1)
    await undoConfiguration(limiter)
    expect((await readConfiguration(limiter))[7]).toMatchObject({ settings: { limit: 7 } })
  })
})

describe('limits as code', () => {
  const REFUSED: readonly (readonly [what: string, desired: unknown, option: string])[] = [
    ['no list', {}, 'configuration'],
    ['an unknown policy', [{ policy: 'nope', settings: {} }], 'configure.nope'],
    ['no policy', [{ settings: { limit: 1 } }], 'configuration[0].policy'],
    [
      'a setting that may not change',
      [{ policy: 'all', settings: { burst: 1 } }],
      'configure.all.burst',
    ],
    ['a wrong value', [{ policy: 'rpm', settings: { limit: -1 } }], 'configure.rpm.limit'],
    ['a policy twice', [LIMIT_30, LIMIT_30], 'configuration[1]'],
    ['a partition twice', [ACME_5, ACME_5], 'configuration[1]'],
    [
      'more than the policy counts by',
      [{ ...ACME_5, subject: { ...ACME, route: 'x' } }],
      'configuration[0].subject.route',
    ],
    ['a subject of all', [{ ...ACME_5, policy: 'all' }], 'configure.all'],
    ['an unknown option', [{ ...ACME_5, until: 5 }], 'configuration[0].until'],
  ]
  it.each(REFUSED)('refuses %s, and changes nothing', async (_, desired, option) => {
    const { isolate } = app(memory())
    const limiter = isolate()
    const list = desired as readonly DesiredEntry[]
    await expect(compareConfiguration(limiter, list)).rejects.toMatchObject({ option })
    await expect(applyConfiguration(limiter, list)).rejects.toMatchObject({ option })
    expect(await readConfiguration(limiter)).toEqual([])
  })

  it('refuses partitions that have records, and long names', async () => {
    const { isolate } = recordsApp(memory())
    await expect(applyConfiguration(isolate(), [ACME_5])).rejects.toMatchObject({
      option: 'configuration[0].subject',
    })
    const by = 'a'.repeat(101)
    for (const call of [
      applyConfiguration(isolate(), [LIMIT_30], { by }),
      undoConfiguration(isolate(), { by }),
      configureAs({ by }, isolate(), { rpm: { limit: 5 } }),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'invalid_option' })
    }
  })
})
