import { createLimiter, slidingWindows } from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { countAllowed, limitsIn } from '../../support/decisions.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { app, FRESH_MS, limitOf, recordsApp } from './support.ts'

const OTHER = { tenant: 'other' }
const U1 = { tenant: 'acme', user: 'u1' }

describe.each(STORES_TO_TEST)('%s: a record for each partition', (name) => {
  const make = storesOf(name)

  it('a limit applies at once in its isolate, and within 5 s in all others', async () => {
    const { clock, isolate } = recordsApp(make())
    const [here, there] = [isolate(), isolate()]
    expect(await limitOf(here, 'rpm')).toBe(10)
    expect(await limitOf(there, 'rpm')).toBe(10)
    await configure(here, { rpm: { limit: 3 } }, ACME)
    expect(await limitOf(here, 'rpm')).toBe(3)
    clock.advance(FRESH_MS - 1)
    expect(await limitOf(there, 'rpm')).toBe(10)
    clock.advance(1)
    // It is read along with a decision, and what that allows stands.
    await there.check(ACME)
    expect(await limitOf(there, 'rpm')).toBe(3)
    expect(await limitOf(there, 'rpm', OTHER)).toBe(10)
  })

  it('the first decision of an isolate allows nothing that the own limit denies', async () => {
    const { isolate } = recordsApp(make())
    await configure(isolate(), { rpm: { limit: 0 } }, ACME)
    await configure(isolate(), { rpm: { limit: 2 } }, OTHER)
    expect(await isolate().check(ACME)).toMatchObject({ allowed: false, degraded: undefined })
    const limiter = isolate()
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.check(OTHER)))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(2)
  })

  it('a denial by an outdated limit is decided again by the new one', async () => {
    const { clock, isolate } = recordsApp(make())
    const [here, there] = [isolate(), isolate()]
    expect(await countAllowed(there, ACME)).toBe(10)
    await configure(here, { rpm: { limit: 12 } }, ACME)
    expect(await there.check(ACME)).toMatchObject({ allowed: false })
    clock.advance(FRESH_MS)
    expect(await countAllowed(there, ACME)).toBe(2)
  })

  it('an own setting wins over that of the policy, setting by setting, and that over the code', async () => {
    const { isolate } = recordsApp(make())
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 30, mode: 'shadow' } })
    await configure(limiter, { rpm: { limit: 1 } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(1)
    expect(await limitOf(limiter, 'rpm', OTHER)).toBe(30)
    // Of the two, the limit is its own and the mode is everyone's.
    for (let time = 0; time < 3; time += 1) expect((await limiter.check(ACME)).allowed).toBe(true)
    await configure(limiter, { rpm: { mode: 'enforce' } }, ACME)
    expect((await limiter.check(ACME)).allowed).toBe(false)
    await configure(limiter, { rpm: { limit: null } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(30)
    await configure(limiter, { rpm: null })
    expect(await limitOf(limiter, 'rpm')).toBe(10)
  })

  it('0 allows nothing, "unlimited" counts nothing, and a bucket has a burst of its own', async () => {
    const { isolate } = recordsApp(make())
    const limiter = isolate()
    const change = {
      rpm: { limit: 'unlimited' },
      bucket: { burst: 5 },
      later: { limit: 7 },
    } as const
    await configure(limiter, change, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe('unlimited')
    expect(await limitOf(limiter, 'later')).toBe(7)
    expect(await limitOf(limiter, 'later', OTHER)).toBe('unconfigured')
    expect(await countAllowed(limiter, ACME)).toBe(5)
    await configure(limiter, { rpm: { limit: 0 } }, ACME)
    expect(await limiter.check(ACME)).toMatchObject({
      allowed: false,
      reason: 'cost_exceeds_limit',
    })
  })

  it('two policies with different dimensions have their limits in one decision', async () => {
    const { clock, isolate } = recordsApp(make())
    const [here, there] = [isolate(), isolate()]
    await configure(here, { rpm: { limit: 5 }, byUser: { limit: 3 } }, U1)
    expect(limitsIn(await there.check(U1))).toMatchObject({ rpm: 5, byUser: 3 })
    expect(limitsIn(await there.check({ ...U1, user: 'u2' }))).toMatchObject({ rpm: 5, byUser: 20 })
    expect(limitsIn(await there.check(ACME))).not.toHaveProperty('byUser')
    await configure(here, { byUser: { limit: 4 } }, U1)
    clock.advance(FRESH_MS)
    await there.check(U1)
    expect(limitsIn(await there.check(U1))).toMatchObject({ rpm: 5, byUser: 4 })
  })

  it('settings are listed and removed by partition', async () => {
    const { isolate } = recordsApp(make())
    const [limiter, other] = [isolate(), isolate()]
    await configure(limiter, { rpm: { limit: 9 } })
    await configure(limiter, { rpm: { limit: 5 }, byUser: { limit: 3 } }, U1)
    await configure(limiter, { rpm: { limit: 6 } }, OTHER)
    const rpm = { policy: 'rpm', subject: ACME, settings: { limit: 5 } }
    const byUser = { policy: 'byUser', subject: U1, settings: { limit: 3 } }
    expect(await readConfiguration(other, U1)).toEqual([rpm, byUser])
    expect(await readConfiguration(other, ACME)).toEqual([rpm])
    expect(await readConfiguration(other)).toEqual([{ policy: 'rpm', settings: { limit: 9 } }])
    await removeConfiguration(limiter, U1, { policies: ['byUser'] })
    expect(await readConfiguration(other, U1)).toEqual([rpm])
    await removeConfiguration(limiter, ACME)
    expect(await readConfiguration(other, U1)).toEqual([])
    expect(await limitOf(limiter, 'rpm')).toBe(9)
    expect(await limitOf(other, 'rpm')).toBe(9)
    expect(await limitOf(other, 'rpm', OTHER)).toBe(6)
  })

  it('a reset keeps the limit', async () => {
    const { isolate } = recordsApp(make())
    const limiter = isolate()
    await configure(limiter, { rpm: { limit: 2 } }, ACME)
    expect(await countAllowed(limiter, ACME)).toBe(2)
    await limiter.reset(ACME)
    expect(await countAllowed(isolate(), ACME)).toBe(2)
  })

  it('ids that are long or look alike have records of their own', async () => {
    const { isolate } = recordsApp(make())
    const limiter = isolate()
    const long = 'x'.repeat(300)
    const ids = ['a', 'a:user=u1', 'a%3Auser=u1', 'A', '*', 'é', long, `${long}y`]
    for (const [index, tenant] of ids.entries()) {
      await configure(
        limiter,
        { rpm: { limit: index + 1 }, byUser: { limit: 1 } },
        { tenant, user: 'u1' },
      )
    }
    const there = isolate()
    for (const [index, tenant] of ids.entries()) {
      expect(await limitOf(there, 'rpm', { tenant })).toBe(index + 1)
      expect(await readConfiguration(there, { tenant })).toHaveLength(1)
    }
  })

  it('windows over one log have limits of their own, by the names of the windows', async () => {
    const windows = {
      minute: { limit: 5, window: '1m' },
      day: { limit: 50, window: '1d' },
    } as const
    const allow = { 'project.minute': ['limit'], 'project.day': ['limit'] } as const
    const limiter = createLimiter({
      store: make(),
      policies: [slidingWindows({ name: 'project', windows, per: ['tenant'] })],
      extensions: [runtimeConfiguration({ allow, partitions: partitionRecords() })],
    })
    await configure(limiter, { 'project.day': { limit: 3 } }, ACME)
    expect(limitsIn(await limiter.check(ACME))).toEqual({ 'project.minute': 5, 'project.day': 3 })
    await configure(limiter, { 'project.minute': { limit: 1 } }, ACME)
    expect(await limiter.check(ACME)).toMatchObject({ violated: { name: 'project.minute' } })
  })

  it('settings that the document has of a partition apply until its record has them, and are removed with it', async () => {
    const store = make()
    const { isolate: before } = app(store)
    const { isolate } = recordsApp(store)
    await configure(before(), { rpm: { limit: 4 }, bucket: { burst: 9 } }, ACME)
    const limiter = isolate()
    expect(await limitOf(limiter, 'rpm')).toBe(4)
    for (const { policy, subject, settings } of await readConfiguration(before())) {
      if (subject) await configure(limiter, { [policy]: settings }, subject)
    }
    expect(await readConfiguration(limiter, ACME)).toHaveLength(2)
    await configure(limiter, { rpm: { limit: null } }, ACME)
    expect(await limitOf(limiter, 'rpm')).toBe(10)
    await removeConfiguration(limiter, ACME)
    expect(await readConfiguration(limiter)).toEqual([])
    expect(await readConfiguration(limiter, ACME)).toEqual([])
  })

  it('without records, the settings of one subject are listed, too', async () => {
    const limiter = app(make()).isolate()
    await configure(limiter, { rpm: { limit: 4 }, byUser: { limit: 2 } }, U1)
    await configure(limiter, { rpm: { limit: 5 } }, OTHER)
    await configure(limiter, { rpm: { limit: 6 } })
    expect(await readConfiguration(limiter, ACME)).toEqual([
      { policy: 'rpm', subject: ACME, settings: { limit: 4 } },
    ])
    expect(await readConfiguration(limiter, U1)).toHaveLength(2)
  })
})
