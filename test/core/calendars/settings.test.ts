import { createLimiter, dailyCap, defineExtension, manualClock, type Store } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import {
  applyConfiguration,
  compareConfiguration,
  configure,
  partitionRecords,
  readConfiguration,
  readHistory,
  runtimeConfiguration,
  undoConfiguration,
  type PartitionRecords,
  type SettingChanges,
} from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { DAY, HOUR } from '../../support/times.ts'

const redis = sharedRedis()
const STORES = { memory: () => memory(), redis: () => redis.store() }
const RECORDS = { 'one document': () => undefined, 'records of partitions': partitionRecords }
const OTHER = { tenant: 'other' }

/** Nine hours before midnight in Berlin. */
const START = Date.parse('2026-11-10T14:00Z')
/** Midnight in Berlin. */
const END = Date.parse('2026-11-10T23:00Z')

const daily = () =>
  dailyCap({
    name: 'daily',
    limit: 10,
    per: ['tenant'],
    resets: calendar({ zone: 'Europe/Berlin' }),
  })

function app(store: Store, partitions?: PartitionRecords) {
  const clock = manualClock(START)
  const { problems, listener } = collectProblems()
  const isolate = (...others: ReturnType<typeof defineExtension>[]) =>
    createLimiter({
      store,
      clock,
      policies: [daily()],
      extensions: [
        runtimeConfiguration({
          allow: { daily: ['zone', 'anchor'] },
          ...(partitions && { partitions }),
        }),
        listener,
        ...others,
      ],
    })
  type AppLimiter = ReturnType<typeof isolate>
  /** Charges one unit. Returns the end of the period, as local time, and the units that are left. */
  const charge = async (limiter: AppLimiter, subject = ACME) => {
    const { policies } = await limiter.check(subject)
    return [policies[0]?.resetsAt, policies[0]?.remaining]
  }
  return { clock, problems, isolate, charge }
}

const CASES = Object.entries(STORES).flatMap(([store, make]) =>
  Object.entries(RECORDS).map(([kind, records]) => [`${kind} in ${store}`, make, records] as const),
)

describe.each(CASES)('a zone and an anchor at run time, with %s', (_, make, records) => {
  it('apply from the end of the period that runs, and null brings those of the code back', async () => {
    const { clock, isolate, charge, problems } = app(make(), records())
    const limiter = isolate()
    expect(await charge(limiter)).toEqual(['2026-11-11T00:00:00+01:00[Europe/Berlin]', 9])
    const settings = { zone: 'Asia/Tokyo', anchor: '2026-01-31T06' }
    await configure(limiter, { daily: settings }, ACME)
    expect(await readConfiguration(limiter, ACME)).toEqual([
      { policy: 'daily', subject: ACME, settings },
    ])
    // The same end, as the tenant's clocks show it.
    expect(await charge(limiter)).toEqual(['2026-11-11T08:00:00+09:00[Asia/Tokyo]', 8])
    expect(await charge(limiter, OTHER)).toEqual(['2026-11-11T00:00:00+01:00[Europe/Berlin]', 9])
    clock.set(END)
    // 22 hours: long enough for a day.
    expect(await charge(limiter)).toEqual(['2026-11-12T06:00:00+09:00[Asia/Tokyo]', 9])
    await configure(limiter, { daily: { zone: null, anchor: null } }, ACME)
    clock.set(Date.parse('2026-11-12T06:00+09:00'))
    expect(await charge(limiter)).toEqual(['2026-11-13T00:00:00+01:00[Europe/Berlin]', 9])
    expect(problems).toEqual([])
  })

  it('apply to everyone, and those of a tenant before them, each by itself', async () => {
    const { isolate, charge } = app(make(), records())
    const limiter = isolate()
    await configure(limiter, { daily: { zone: 'America/New_York', anchor: '2026-01-01T06' } })
    await configure(limiter, { daily: { zone: 'UTC' } }, ACME)
    expect(await charge(limiter)).toEqual(['2026-11-11T06:00:00+00:00[UTC]', 9])
    expect(await charge(limiter, OTHER)).toEqual(['2026-11-11T06:00:00-05:00[America/New_York]', 9])
  })

  it('end by themselves', async () => {
    const { clock, isolate, charge } = app(make(), records())
    const limiter = isolate()
    await configure(limiter, { daily: { zone: 'UTC', until: END + HOUR } }, ACME)
    expect(await charge(limiter)).toEqual(['2026-11-11T00:00:00+00:00[UTC]', 9])
    clock.set(END + HOUR)
    expect(await charge(limiter)).toEqual(['2026-11-12T00:00:00+01:00[Europe/Berlin]', 9])
  })

  it('reach another isolate within 5 seconds, and a reset cuts the period', async () => {
    const { clock, isolate, charge } = app(make(), records())
    const [here, there] = [isolate(), isolate()]
    await charge(there)
    await configure(here, { daily: { zone: 'UTC' } }, ACME)
    clock.advance(5_000)
    // Read along with a decision.
    await there.peek(ACME)
    expect(await charge(there)).toEqual(['2026-11-10T23:00:00+00:00[UTC]', 8])
    await there.reset(ACME)
    expect(await charge(there)).toEqual(['2026-11-11T00:00:00+00:00[UTC]', 9])
  })

  it('give a tenant that moves west at each end of a day no second budget', async () => {
    const { clock, isolate, charge } = app(make(), records())
    const limiter = isolate()
    const zones = ['Europe/London', 'Atlantic/Azores', 'America/New_York', 'Pacific/Honolulu']
    let [days, turn] = [0, 0]
    for (; clock() < START + 40 * DAY; turn += 1) {
      if ((await charge(limiter))[1] === 9) days += 1
      const { policies } = await limiter.peek(ACME)
      clock.advance(policies[0]?.resetMs ?? 0)
      await configure(limiter, { daily: { zone: zones[turn % zones.length] as string } }, ACME)
    }
    expect(days).toBeGreaterThan(20)
    expect(days).toBeLessThanOrEqual(41)
  })

  it('keep the last end of a tenant without settings, should it move after a pause', async () => {
    const { clock, isolate, charge } = app(make(), records())
    const limiter = isolate()
    await charge(limiter)
    clock.set(END + 4 * HOUR)
    await configure(limiter, { daily: { zone: 'America/New_York' } }, ACME)
    // New York's day ends in two hours, which would be a second budget.
    expect(await charge(limiter)).toEqual(['2026-11-12T00:00:00-05:00[America/New_York]', 9])
  })
})

it('leaves the settings of another extension to a tenant without a zone of its own', async () => {
  const halved = defineExtension({
    name: 'halved',
    connect: () => ({ before: () => ({ settings: () => ({ limit: 5 }) }) }),
  })
  const { isolate, charge } = app(memory())
  expect(await charge(isolate(halved))).toEqual(['2026-11-11T00:00:00+01:00[Europe/Berlin]', 4])
})

it('states zones in a list, keeps them in the history, and takes them back', async () => {
  const { isolate } = app(memory())
  const limiter = isolate()
  const desired = [
    { policy: 'daily', settings: { zone: 'UTC' } },
    { policy: 'daily', subject: ACME, settings: { zone: 'Asia/Tokyo', anchor: '2026-01-31' } },
  ]
  await applyConfiguration(limiter, desired)
  expect(await readConfiguration(limiter)).toEqual([
    { ...desired[0], subject: undefined },
    desired[1],
  ])
  const { changes } = await compareConfiguration(limiter, desired.slice(0, 1))
  expect(changes).toEqual([{ ...desired[1], settings: undefined, from: desired[1]?.settings }])
  await configure(limiter, { daily: { zone: 'Asia/Seoul' } }, ACME)
  expect((await readHistory(limiter))[0]?.changes).toMatchObject([
    { from: { zone: 'Asia/Tokyo' }, to: { zone: 'Asia/Seoul', anchor: '2026-01-31' } },
  ])
  await undoConfiguration(limiter)
  expect(await readConfiguration(limiter, ACME)).toEqual([desired[1]])
})

it('ignores and reports stored zones and anchors that are none', async () => {
  const prefix = freshPrefix()
  const { isolate, charge, problems } = app(redis.store(prefix))
  const limiter = isolate()
  await configure(limiter, { daily: { zone: 'Asia/Tokyo' } })
  const bad = [{ zone: 'Mars/Olympus' }, { zone: 9 }, { anchor: '2026-02-30' }, { anchor: 5 }]
  const entries = bad.map((settings) => ({ policy: 'daily', subject: ACME, settings }))
  await redis.redis.hset(`${prefix}:config:default`, {
    settings: JSON.stringify(entries),
    version: 'by hand',
  })
  expect(await charge(isolate())).toEqual(['2026-11-11T00:00:00+01:00[Europe/Berlin]', 9])
  expect(problems).toHaveLength(bad.length)
  for (const { message } of problems) expect(message).toMatch(/\[\d\]\.(zone|anchor): must be a/)
})

const REFUSED: readonly (readonly [SettingChanges, string])[] = [
  [{ zone: 'Europe/Berln' }, 'zone'],
  [{ zone: '' }, 'zone'],
  [{ zone: 60 as never }, 'zone'],
  [{ anchor: '31' }, 'anchor'],
  [{ anchor: '2026-02-30' }, 'anchor'],
  [{ anchor: 1_769_817_600_000 as never }, 'anchor'],
  [{ anchor: new Date(START) as never }, 'anchor'],
  [{ zone: 'Mars/Olympus', until: END }, 'zone'],
  [{ zone: null, until: END } as never, 'zone'],
]

it.each(REFUSED)('refuses %o, and changes nothing', async (change, setting) => {
  for (const records of Object.values(RECORDS)) {
    const limiter = app(memory(), records()).isolate()
    const option = `configure.daily.${setting}`
    await expect(configure(limiter, { daily: change }, ACME)).rejects.toMatchObject({ option })
    expect(await readConfiguration(limiter, ACME)).toEqual([])
  }
})

it.each(['zone', 'anchor'] as const)('refuses a %s for a policy without a calendar', (setting) => {
  const policies = [dailyCap({ name: 'daily', limit: 1, per: ['tenant'] })]
  const extensions = [runtimeConfiguration({ allow: { daily: ['limit', setting] } })]
  expect(() => createLimiter({ store: memory(), policies, extensions })).toThrow(
    `runtimeConfiguration.allow.daily: must not list "${setting}": only policies with a calendar have it`,
  )
})
