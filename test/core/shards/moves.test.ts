import { StoreError, type Decision, type Limiter, type Operation, type Store } from '@sluice/core'
import { configure, readConfiguration } from '@sluice/core/configuration'
import { lease, leased, type LeasedStore } from '@sluice/core/leases'
import { movedFrom } from '@sluice/core/moves'
import { release, reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { acme, BUDGET, FROM_TWO, MOVING, setUp, settings } from './moving.ts'

const causeOf = async (limiter: Limiter<'tenant'>): Promise<string | undefined> =>
  (await limiter.check(acme)).degraded?.cause

const allowedOf = (decisions: readonly Decision[]): number =>
  decisions.filter(({ allowed }) => allowed).length

/** Objects find a place by themselves, several databases have a list of their own, and a file is for one process. */
const isFit = (name: string): boolean =>
  !/^durable objects|^four databases|^a region|^file/.test(name)

describe.each(STORES_TO_TEST.filter(isFit))('a tenant that moves between stores: %s', (name) => {
  const make = storesOf(name)

  it.each(KIND_NAMES)('takes its count along: %s', async (kind) => {
    const { openOld, openNew, oracle, clock } = setUp(make, [KINDS[kind]('own', 10)])
    const old = openOld()
    for (const tenant of MOVING) {
      for (let call = 0; call < 6; call += 1) {
        clock.advance(10)
        await Promise.all([old.check({ tenant }), oracle.check({ tenant })])
      }
    }
    const processes = [openNew(), openNew()]
    for (const tenant of MOVING) {
      const checks = processes.flatMap((limiter) =>
        Array.from({ length: 13 }, () => limiter.check({ tenant })),
      )
      const decisions = await Promise.all(checks)
      expect(decisions.filter(({ degraded, place }) => degraded || place !== 'c')).toEqual([])
      const alone: Decision[] = []
      for (let call = 0; call < 26; call += 1) alone.push(await oracle.check({ tenant }))
      expect(allowedOf(decisions)).toBe(allowedOf(alone))
      expect(allowedOf(decisions)).toBeLessThanOrEqual(4)
      // No process counts on where it was.
      expect(await old.check({ tenant })).toMatchObject({ degraded: { cause: 'store_moved' } })
    }
    for (const afterMs of [0, 15_000, 30_000, 86_400_000]) {
      clock.advance(afterMs)
      for (const tenant of MOVING) {
        const [found, expected] = [
          await processes[0]!.peek({ tenant }),
          await oracle.peek({ tenant }),
        ]
        expect(found.policies).toEqual(expected.policies)
      }
    }
  })

  it('settles a reservation once, wherever it was made', async () => {
    const { openOld, openNew } = setUp(make, [BUDGET])
    const [old, now] = [openOld(), openNew()]
    const cost = { usd: 4_000_000 }
    const [one, two] = [await reserve(old, acme, { cost }), await reserve(old, acme, { cost })]
    if (!one.allowed || !two.allowed) throw new Error('they fit')
    // Before the tenant has asked in the new list.
    const [here, again] = [reservation(now, one.toJSON()), reservation(now, one.toJSON())]
    expect(await here.settle({ usd: 1_000_000 })).toMatchObject({
      applied: true,
      returned: { usd: 3_000_000 },
    })
    expect(await again.settle({ usd: 1_000_000 })).toMatchObject({
      applied: false,
      why: 'settled_before',
    })
    expect((await now.peek(acme, { cost: { usd: 5_000_000 } })).allowed).toBe(true)
    expect((await now.peek(acme, { cost: { usd: 6_000_000 } })).allowed).toBe(false)
    // A process that does not know where the tenant is cannot, and takes nothing from one that does.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(two.settle({ usd: 0 })).rejects.toMatchObject({ code: 'store_moved' })
    }
    const late = await reservation(now, two.toJSON()).settle({ usd: 0 })
    expect(late).toMatchObject({ applied: true, returned: { usd: 4_000_000 } })
    expect((await now.peek(acme, { cost: { usd: 9_000_000 } })).allowed).toBe(true)
  })

  it('releases what was reserved before and is not settled', async () => {
    const { openOld, openNew, clock } = setUp(make, [BUDGET])
    const [old, now] = [openOld(), openNew()]
    const options = { cost: { usd: 8_000_000 }, unsettled: release(), settleWithin: '1m' } as const
    expect((await reserve(old, acme, options)).allowed).toBe(true)
    expect((await reserve(now, acme, options)).allowed).toBe(false)
    clock.advance(60_000)
    expect((await reserve(now, acme, options)).allowed).toBe(true)
    expect((await reserve(now, acme, options)).allowed).toBe(false)
  })

  it('takes its settings along', async () => {
    const { openOld, openNew } = setUp(make)
    await configure(openOld(settings()), { rpm: { limit: 2 } }, acme)
    const now = openNew(settings())
    const allowed = []
    for (let call = 0; call < 4; call += 1) allowed.push((await now.check(acme)).allowed)
    expect(allowed).toEqual([true, true, false, false])
  })

  it('is read, but not written, where its settings were', async () => {
    const { openOld, openNew } = setUp(make)
    const old = openOld(settings())
    await configure(old, { rpm: { limit: 2 } }, acme)
    await openNew(settings()).check(acme)
    const other = openOld(settings())
    expect(JSON.stringify(await readConfiguration(other, acme))).toContain('"limit":2')
    await expect(configure(other, { rpm: { limit: 9 } }, acme)).rejects.toMatchObject({
      code: 'store_moved',
    })
    expect((await openNew(settings()).check(acme)).policies[0]).toMatchObject({ limit: 2 })
  })

  it('goes back with the settings that it was given meanwhile', async () => {
    const { open, openOld, openNew, databases } = setUp(make)
    await configure(openOld(settings()), { rpm: { limit: 2 } }, acme)
    await configure(openNew(settings()), { rpm: { limit: 3 } }, acme)
    await open(databases, { from: 'ended' }).check(acme)
    const options = { weights: { c: 0 }, from: movedFrom({ stores: ['a', 'b', 'c'] }) }
    const back = open(databases, options, [settings()])
    expect((await back.check(acme)).policies[0]).toMatchObject({ limit: 3 })
  })

  it('leaves when a database is removed, and may come back', async () => {
    const { open, openNew, databases } = setUp(make)
    const { a, b } = databases
    const three = open(databases)
    for (let call = 0; call < 3; call += 1) await three.check(acme)
    const options = { weights: { c: 0 }, from: movedFrom({ stores: ['a', 'b', 'c'] }) }
    const without = open(databases, options)
    for (let call = 0; call < 3; call += 1) await without.check(acme)
    expect(await causeOf(three)).toBe('store_moved')
    // Once all have moved, the database may be gone.
    await open(databases, { weights: { c: 0 }, from: 'ended' }).check(acme)
    await open({ a, b }).peek(acme)
    const back = openNew()
    const last = []
    for (let call = 0; call < 5; call += 1) last.push(await back.check(acme))
    // One was counted by the process that ended the move.
    expect(last.filter(({ allowed }) => allowed)).toHaveLength(3)
    expect(last[0]).toMatchObject({ place: 'c', degraded: undefined })
  })

  it('is reset where it is, and not where it was', async () => {
    const { openOld, openNew } = setUp(make)
    const [old, now] = [openOld(), openNew()]
    for (let call = 0; call < 10; call += 1) await old.check(acme)
    expect((await now.check(acme)).allowed).toBe(false)
    await expect(old.reset(acme)).rejects.toMatchObject({
      code: 'store_moved',
      place: expect.any(String),
    })
    await now.reset(acme)
    expect((await now.check(acme)).policies[0]).toMatchObject({ remaining: 9 })
    expect(await causeOf(old)).toBe('store_moved')
  })

  it('is reset before it has asked', async () => {
    const { openOld, openNew } = setUp(make)
    const old = openOld()
    for (let call = 0; call < 10; call += 1) await old.check(acme)
    const now = openNew()
    await now.reset(acme)
    expect((await now.check(acme)).policies[0]).toMatchObject({ remaining: 9 })
  })

  it.each(['find arrived', 'depart', 'arrive'])(
    'is counted exactly if the reply to one step is lost: %s',
    async (lost) => {
      const { databases, open, openOld } = setUp(make)
      const old = openOld()
      for (let call = 0; call < 6; call += 1) await old.check(acme)
      const failing = { hasFailed: false }
      const stores = {
        a: losing(databases.a, lost, failing),
        b: losing(databases.b, lost, failing),
        c: losing(databases.c, lost, failing),
      }
      const unlucky = open(stores, { from: FROM_TWO })
      expect(await causeOf(unlucky)).toBe('store_unreachable')
      // Another process goes on with it.
      const other = open(databases, { from: FROM_TWO })
      const decisions = []
      for (let call = 0; call < 3; call += 1) {
        decisions.push(await other.check(acme), await unlucky.check(acme))
      }
      expect(decisions.map(({ allowed }) => allowed)).toEqual([
        true,
        true,
        true,
        true,
        false,
        false,
      ])
      expect(decisions.at(-1)).toMatchObject({ degraded: undefined, place: 'c' })
    },
  )

  it.skipIf(name.includes('cluster'))(
    'is never above its limit while an old process holds a lease of it',
    async () => {
      const large = KINDS['fixed window']('large', 200)
      const { databases, open } = setUp(make, [lease(large)])
      const { a, b, c } = databases
      const inOld: { a: LeasedStore; b: LeasedStore } = { a: leased(a), b: leased(b) }
      const old = open(inOld)
      const now = open({ a: leased(a), b: leased(b), c: leased(c) }, { from: FROM_TWO })
      let allowed = 0
      for (let call = 0; call < 60; call += 1) allowed += Number((await old.check(acme)).allowed)
      for (let call = 0; call < 300; call += 1) {
        const limiter = call % 4 === 0 ? old : now
        allowed += Number((await limiter.check(acme)).allowed)
      }
      await Promise.all([inOld.a.returnUnits(), inOld.b.returnUnits()])
      for (let call = 0; call < 100; call += 1) allowed += Number((await now.check(acme)).allowed)
      expect(allowed).toBeLessThanOrEqual(200)
      expect(allowed).toBeGreaterThan(100)
    },
  )
})

/** A store that loses its reply to an operation of this name, once. */
function losing(store: Store, name: string, failing: { hasFailed: boolean }): Store {
  return {
    check: (request) => store.check(request),
    async run<Result>(operation: Operation<Result>) {
      const result = await store.run(operation)
      if (operation.kind.name !== name || failing.hasFailed) return result
      failing.hasFailed = true
      throw new StoreError('store_unreachable', 'lost')
    },
    reset: (keys) => store.reset(keys),
  }
}
