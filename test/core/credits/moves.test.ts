import { StoreError, type Operation, type Store } from '@sluice/core'
import { balance, grant, revoke, settleHold } from '@sluice/core/credits'
import { reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { acme, FROM_TWO, MOVING, setUp } from '../shards/moving.ts'
import { lawful, policyOf, UNIT, type CreditLimiter } from './support.ts'

/** Objects find a place by themselves, several databases have a list of their own, and a file is for one process. */
const isFit = (name: string): boolean =>
  !/^durable objects|^four databases|^a region|^file/.test(name)

const asCredits = (limiter: unknown) => limiter as CreditLimiter
const PAID = { amount: 100, at: NOON, kind: 'paid' } as const

describe.each(STORES_TO_TEST.filter(isFit))('the balance of a tenant that moves: %s', (name) => {
  const make = storesOf(name)
  const start = () => {
    const places = setUp(make, [policyOf()] as never)
    return {
      ...places,
      old: asCredits(places.openOld()),
      openNew: () => asCredits(places.openNew()),
    }
  }

  it('goes along with its lots, holds, debts, and the ids of its grants', async () => {
    const { old, openNew } = start()
    for (const tenant of MOVING) {
      await grant(old, { tenant }, { ...PAID, id: 'g' })
      await grant(old, { tenant }, { ...PAID, id: 'h', kind: 'promotional', expiresAt: NOON + 9e8 })
      await old.check({ tenant }, { cost: { [UNIT]: 30 } })
      const call = await reserve(old, { tenant }, { cost: { [UNIT]: 20 } })
      const before = await balance(old, { tenant })
      const now = openNew()
      expect(await balance(now, { tenant })).toEqual(before)
      expect((await grant(now, { tenant }, { ...PAID, id: 'g' })).applied).toBe(false)
      expect(await balance(now, { tenant })).toEqual(before)
      await expect(grant(old, { tenant }, { ...PAID, id: 'late' })).rejects.toMatchObject({
        code: 'store_moved',
      })
      const settled = await reservation(now as never, JSON.stringify(call)).settle({ [UNIT]: 200 })
      expect(settled.applied).toBe(true)
      expect((await revoke(now, { tenant }, 'h', { debt: true })).applied).toBe(true)
      expect(await lawful(now, { tenant })).toMatchObject({
        debt: 130,
        held: 0,
        totals: { granted: 200, settled: 230, revoked: 100 },
      })
    }
  })

  it('takes along an abandoned reservation, which an operator settles there', async () => {
    const { old, openNew, clock } = start()
    await grant(old, acme, { ...PAID, id: 'g' })
    await reserve(old, acme, { cost: { [UNIT]: 60 }, settleWithin: '1h' })
    clock.advance(7_200_000)
    const now = openNew()
    const { reservations, abandoned } = await lawful(now, acme)
    expect(abandoned).toBe(60)
    expect((await settleHold(now, acme, reservations[0]!.id, 10)).applied).toBe(true)
    expect(await lawful(now, acme)).toMatchObject({ balance: 90, abandoned: 0 })
  })

  it('has each grant once that is in flight, and repeated, while it moves', async () => {
    const { old, openNew } = start()
    const limiters = [old, openNew(), openNew()]
    for (const tenant of MOVING) {
      await grant(old, { tenant }, { ...PAID, id: 'first' })
      // Old processes are refused from the moment at which the tenant has moved, and their webhooks come again.
      const sends = Array.from(
        { length: 30 },
        (_, index) => () =>
          grant(limiters[index % 3]!, { tenant }, { ...PAID, id: `g${index % 10}` }),
      )
      const answers = await Promise.allSettled(sends.map((send) => send()))
      const failed = answers.filter((one) => one.status === 'rejected')
      expect(failed.filter(({ reason }) => reason.code !== 'store_moved')).toEqual([])
      for (let id = 0; id < 10; id += 1) {
        await grant(limiters[1]!, { tenant }, { ...PAID, id: `g${id}` })
      }
      expect(await lawful(limiters[2]!, { tenant })).toMatchObject({ balance: 1_100 })
    }
  })

  it.each(['find arrived', 'depart', 'arrive'])(
    'is not doubled or lost if the reply to one step is lost: %s',
    async (lost) => {
      const { old, open, databases } = start()
      await grant(old, acme, { ...PAID, id: 'g' })
      await old.check(acme, { cost: { [UNIT]: 40 } })
      const failing = { hasFailed: false }
      const stores = {
        a: losing(databases.a, lost, failing),
        b: losing(databases.b, lost, failing),
        c: losing(databases.c, lost, failing),
      }
      const unlucky = asCredits(open(stores, { from: FROM_TWO }))
      const other = asCredits(open(databases, { from: FROM_TWO }))
      const more = { ...PAID, id: 'more', amount: 5 }
      await expect(grant(unlucky, acme, more)).rejects.toMatchObject({ code: 'store_unreachable' })
      expect((await grant(other, acme, { ...PAID, id: 'g' })).applied).toBe(false)
      await grant(other, acme, more)
      expect((await grant(unlucky, acme, more)).applied).toBe(false)
      expect(await lawful(other, acme)).toMatchObject({ balance: 65, totals: { settled: 40 } })
    },
  )
})

/** A store that loses its reply to an operation of this name, once. */
function losing(store: Store, name: string, failing: { hasFailed: boolean }): Store {
  return {
    ...store,
    async run<Result>(operation: Operation<Result>) {
      const result = await store.run(operation)
      if (operation.kind.name !== name || failing.hasFailed) return result
      failing.hasFailed = true
      throw new StoreError('store_unreachable', 'lost')
    },
  }
}
