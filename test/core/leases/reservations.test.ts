import { dailyCap, fixedWindow, type Policy } from '@sluice/core'
import { lease, reserveFromLeases } from '@sluice/core/leases'
import { fitRange, reservation, reserve, type Reservation } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { remaining } from '../../support/decisions.ts'
import { ACME } from '../../support/limiters.ts'
import { setUpLeases, settled } from './support.ts'

const SPEND = { limit: 100_000, unit: 'usd', per: 'global' } as const
/** The spend of everyone in a day, and of each tenant in an hour. */
const everyone = lease(dailyCap({ name: 'everyone', ...SPEND }), { duration: '2s' })
const tenant = fixedWindow({
  name: 'tenant',
  limit: 50_000,
  unit: 'usd',
  window: '1h',
  per: ['tenant'],
})

type Setup = ReturnType<typeof setUpLeases>

const setUp = (policies: readonly Policy[]): Setup =>
  setUpLeases(policies, { leases: { reservations: reserveFromLeases } })

/** Reserves so many units, and must be allowed. */
async function mustReserve(
  { limiter }: Pick<Setup, 'limiter'>,
  usd: number,
  more: { readonly settleWithin?: string } = {},
): Promise<Reservation & { readonly source: string }> {
  const call = await reserve(limiter, ACME, { cost: { usd }, ...more } as never)
  if (!call.allowed) throw new Error(`denied: ${call.reason}`)
  return call
}

/** The units that the store has left, by policy. */
const left = async ({ start }: Setup): Promise<Record<string, number>> =>
  remaining(await start().limiter.peek(ACME, { cost: { usd: 0 } }))

describe('a reservation from a lease', () => {
  it('takes a block with the first, and then no trip, nor does its settlement', async () => {
    const one = setUp([everyone])
    for (let time = 0; time < 63; time += 1)
      await (await mustReserve(one, 100)).settle({ usd: 100 })
    // Blocks of 1, 2, 4, … 32.
    expect([one.shared.checks.length, one.shared.returns]).toEqual([6, 0])
    expect(await left(one)).toEqual({ everyone: 100_000 - 6_300 })
  })

  it('waits for a block that is on its way', async () => {
    const one = setUp([everyone])
    const calls = await Promise.all(Array.from({ length: 100 }, () => mustReserve(one, 10)))
    expect(one.shared.checks).toHaveLength(2)
    expect(calls.every(({ source }) => source === 'lease')).toBe(true)
  })

  it('takes one trip where another policy is counted in the store, and one to settle', async () => {
    const one = setUp([everyone, tenant])
    for (let time = 0; time < 4; time += 1) await mustReserve(one, 100)
    const before = [one.shared.checks.length, one.shared.returns]
    const call = await mustReserve(one, 100)
    const settling = await call.settle({ usd: 40 })
    expect(settling).toMatchObject({ applied: true, returned: { usd: 60 }, overrun: {} })
    expect([one.shared.checks.length, one.shared.returns]).toEqual([
      (before[0] ?? 0) + 1,
      (before[1] ?? 0) + 1,
    ])
    await one.store.returnUnits()
    expect(await left(one)).toEqual({ everyone: 100_000 - 700, tenant: 50_000 - 440 })
  })

  it('gives unused units back to its lease, which serves them again', async () => {
    const one = setUp([everyone])
    for (let time = 0; time < 7; time += 1) await mustReserve(one, 100)
    const before = one.shared.checks.length
    for (let time = 0; time < 50; time += 1) {
      // Of a block of 800.
      expect(await (await mustReserve(one, 100)).cancel()).toMatchObject({ returned: { usd: 100 } })
    }
    expect(one.shared.checks).toHaveLength(before + 1)
  })

  it('keeps its block open until it is settled, and then gives back what all have not used', async () => {
    const one = setUp([everyone])
    for (let time = 0; time < 3; time += 1) await mustReserve(one, 100)
    const [first, second] = [await mustReserve(one, 100), await mustReserve(one, 100)]
    await first.settle({ usd: 10 })
    await one.store.returnUnits()
    expect(await left(one)).toEqual({ everyone: 100_000 - 700 })
    await second.settle({ usd: 20 })
    await settled()
    expect(await left(one)).toEqual({ everyone: 100_000 - 300 - 30 })
  })

  it('charges an overrun of its block, and past that in the store', async () => {
    const one = setUp([everyone])
    const calls = [await mustReserve(one, 100), await mustReserve(one, 100)]
    expect(await calls[0]?.settle({ usd: 130 })).toMatchObject({ overrun: { usd: 30 } })
    expect(await calls[1]?.settle({ usd: 1_000 })).toMatchObject({ overrun: { usd: 900 } })
    await one.store.returnUnits()
    await settled()
    expect(await left(one)).toEqual({ everyone: 100_000 - 1_130 })
  })

  it('is settled once', async () => {
    const one = setUp([everyone])
    const call = await mustReserve(one, 100)
    expect(await call.settle({ usd: 40 })).toMatchObject({ applied: true, returned: { usd: 60 } })
    expect(await call.settle({ usd: 0 })).toMatchObject({
      applied: false,
      why: 'settled_before',
      returned: { usd: 60 },
    })
  })

  it('is final after its time', async () => {
    const one = setUp([everyone])
    const call = await mustReserve(one, 100, { settleWithin: '10s' })
    one.clock.advance(10_000)
    expect(await call.settle({ usd: 0 })).toMatchObject({ applied: false, why: 'too_late' })
    await one.store.returnUnits()
    expect(await left(one)).toEqual({ everyone: 100_000 - 100 })
  })

  it('gives nothing back to a window that is over', async () => {
    const hourly = lease(fixedWindow({ name: 'hourly', ...SPEND, window: '1h' }))
    const one = setUp([hourly])
    const call = await mustReserve(one, 100, { settleWithin: '2h' })
    one.clock.advance(3_600_000)
    expect(await call.settle({ usd: 30 })).toMatchObject({ applied: true, returned: {} })
    expect(await left(one)).toEqual({ hourly: 100_000 })
  })

  it('holds its block open for ten minutes, and gives nothing back after that', async () => {
    const one = setUp([everyone])
    const call = await mustReserve(one, 100)
    one.clock.advance(600_000)
    await (await mustReserve(one, 100)).settle({ usd: 100 })
    expect(await call.settle({ usd: 10 })).toMatchObject({ applied: true, returned: {} })
    await one.store.returnUnits()
    await settled()
    expect(await left(one)).toEqual({ everyone: 100_000 - 200 })
  })

  it('counts a cost that was not known before', async () => {
    const one = setUp([everyone])
    await mustReserve(one, 100)
    const call = await mustReserve(one, 0)
    expect(await call.settle({ usd: 70 })).toMatchObject({ overrun: { usd: 70 } })
    await one.store.returnUnits()
    await settled()
    expect(await left(one)).toEqual({ everyone: 100_000 - 170 })
  })

  it('that is denied by another policy takes nothing', async () => {
    const one = setUp([everyone, tenant])
    for (let time = 0; time < 3; time += 1) await mustReserve(one, 100)
    const denied = await reserve(one.limiter, ACME, { cost: { usd: 49_800 } })
    expect(denied).toMatchObject({ allowed: false, violated: { name: 'tenant' } })
    await one.store.returnUnits()
    expect(await left(one)).toEqual({ everyone: 100_000 - 300, tenant: 50_000 - 300 })
  })

  it('whose units are reset meanwhile gives nothing back', async () => {
    const own = lease(dailyCap({ name: 'own', ...SPEND, per: ['tenant'] }))
    const one = setUp([own])
    const call = await mustReserve(one, 100)
    await one.limiter.reset(ACME)
    expect(await call.settle({ usd: 10 })).toMatchObject({ applied: true, returned: {} })
    await settled()
    expect(await left(one)).toEqual({ own: 100_000 })
  })

  it('whose lease is over gives nothing back either, if its units are reset meanwhile', async () => {
    const own = lease(dailyCap({ name: 'own', ...SPEND, per: ['tenant'] }))
    const one = setUp([own])
    const call = await mustReserve(one, 100)
    one.clock.advance(2_000)
    await (await mustReserve(one, 100)).settle({ usd: 100 })
    await one.limiter.reset(ACME)
    const other = one.start()
    await (await mustReserve(other, 500)).settle({ usd: 500 })
    expect(await call.settle({ usd: 10 })).toMatchObject({ applied: true, returned: {} })
    await settled()
    expect(await left(one)).toEqual({ own: 100_000 - 500 })
  })
})

describe('a reservation goes to the store', () => {
  it('if the limit is small beside its cost', async () => {
    const one = setUp([everyone])
    expect((await mustReserve(one, 7_000)).source).toBe('store')
    expect(one.shared.checks).toHaveLength(1)
  })

  it('while there is a lease from before the first reservation', async () => {
    const one = setUp([everyone])
    for (let time = 0; time < 3; time += 1) await one.limiter.check(ACME, { cost: { usd: 100 } })
    await one.limiter.check(ACME, { cost: { usd: 100 } })
    expect((await mustReserve(one, 100)).source).toBe('store')
    one.clock.advance(2_000)
    expect((await mustReserve(one, 100)).source).toBe('lease')
  })

  it('once if a block fails, and not for longer', async () => {
    const one = setUp([everyone])
    await mustReserve(one, 100)
    one.shared.isDown = true
    expect(await reserve(one.limiter, ACME, { cost: { usd: 100 } })).toMatchObject({
      degraded: { cause: 'store_unreachable' },
    })
    one.shared.isDown = false
    expect((await mustReserve(one, 100)).source).toBe('lease')
  })

  it('for a second after a block was denied', async () => {
    const few = lease(
      fixedWindow({ name: 'few', limit: 16, unit: 'usd', window: '1h', per: 'global' }),
    )
    const one = setUp([few])
    for (let time = 0; time < 16; time += 1) await mustReserve(one, 1)
    const before = one.shared.checks.length
    for (let time = 0; time < 10; time += 1) {
      expect(await reserve(one.limiter, ACME, { cost: { usd: 1 } })).toMatchObject({
        allowed: false,
      })
    }
    expect(one.shared.checks.length - before).toBeLessThanOrEqual(11)
  })
})

describe('with a fit, a reservation from a lease', () => {
  const fit = fitRange({ floor: 10, most: 100, rates: { usd: 1_000_000 } })

  it('is granted the most, or what the store grants', async () => {
    const one = setUp([everyone, tenant])
    const granted: number[] = []
    for (let time = 0; time < 502; time += 1) {
      const call = await reserve(one.limiter, ACME, { cost: { usd: 0 }, fit })
      if (!call.allowed) break
      granted.push(call.granted)
      await call.settle({ usd: time === 0 ? 65 : call.granted })
    }
    expect(granted).toHaveLength(501)
    expect(granted.slice(0, 500).every((one_) => one_ === 100)).toBe(true)
    expect(granted[500]).toBe(35)
    await one.store.returnUnits()
    await settled()
    expect(await left(one)).toEqual({ everyone: 50_000, tenant: 0 })
  })

  it('gives nothing back of what it is not granted, if its units are reset meanwhile', async () => {
    const one = setUp([everyone, tenant])
    for (let time = 0; time < 4; time += 1) {
      const call = await reserve(one.limiter, { tenant: 'other' }, { cost: { usd: 0 }, fit })
      if (call.allowed) await call.settle({ usd: call.granted })
    }
    await one.start().limiter.check(ACME, { cost: { usd: 49_960 } })
    const resume = one.shared.holdReplies()
    const late = reserve(one.limiter, ACME, { cost: { usd: 0 }, fit })
    await settled()
    await one.limiter.reset(ACME, { policies: ['everyone'] })
    resume()
    const call = await late
    expect(call).toMatchObject({ allowed: true, granted: 40, source: 'store' })
    await one.start().limiter.check({ tenant: 'other' }, { cost: { usd: 450 } })
    if (call.allowed) await call.settle({ usd: 40 })
    await one.store.returnUnits()
    await settled()
    expect((await left(one))['everyone']).toBe(100_000 - 450)
  })
})

describe('in another process, a reservation from a lease', () => {
  it.each([
    ['cancelled', 80, 0],
    ['settled at more', 350, 500],
    ['settled again', 350, 350],
  ])('that was settled there is not %s at home', async (_, there, here) => {
    const one = setUp([everyone, tenant])
    for (let time = 0; time < 3; time += 1) await mustReserve(one, 100)
    const call = await mustReserve(one, 100)
    await reservation(one.start().limiter, JSON.stringify(call)).settle({ usd: there })
    const before = await left(one)
    expect(await call.settle({ usd: here })).toMatchObject({
      applied: false,
      why: 'settled_before',
    })
    await settled()
    expect(await left(one)).toEqual(before)
  })

  it('is settled in the store: an overrun is charged, and nothing of the lease given back', async () => {
    const one = setUp([everyone, tenant])
    const [less, more] = [await mustReserve(one, 100), await mustReserve(one, 100)]
    const before = await left(one)
    const other = one.start().limiter
    expect(await reservation(other, JSON.stringify(less)).settle({ usd: 40 })).toMatchObject({
      applied: true,
      returned: { usd: 60 },
    })
    await reservation(other, JSON.stringify(more)).settle({ usd: 130 })
    expect(await left(one)).toEqual({
      everyone: (before['everyone'] ?? 0) - 30,
      tenant: (before['tenant'] ?? 0) + 60 - 30,
    })
  })
})
