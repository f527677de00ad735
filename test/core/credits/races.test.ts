import type { InputError } from '@sluice/core'
import { adjust, balance, grant, revoke, settleHold } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { randomFrom } from './history.ts'
import { ACME, errorOf, give, lawful, limiterOn, spend, UNIT } from './support.ts'

const times = <T>(count: number, act: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => act(index))

const sumOf = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0)

describe.each(STORES_TO_TEST.filter((name) => name !== 'a region over home'))(
  'a balance that many use at once: %s',
  (name) => {
    const make = storesOf(name)

    it('gives its last units to one of 64', async () => {
      const store = make()
      const limiters = times(4, () => limiterOn(store))
      await give(limiters[0]!, 10, 'g')
      const checks = times(64, (index) => spend(limiters[index % 4]!, 7))
      expect((await Promise.all(checks)).filter(Boolean)).toHaveLength(1)
      const reserves = times(64, (index) =>
        reserve(limiters[index % 4]!, ACME, { cost: { [UNIT]: 2 } }),
      )
      const allowed = (await Promise.all(reserves)).filter((one) => one.allowed)
      expect(allowed).toHaveLength(1)
      const found = await lawful(limiters[0]!)
      expect(found).toMatchObject({ balance: 1, held: 2, debt: 0, totals: { settled: 7 } })
    })

    it('counts each grant, correction and revocation once, however often and in any order they come', async () => {
      const store = make()
      const limiters = times(4, () => limiterOn(store))
      const random = randomFrom(7)
      // A webhook comes five times.
      const webhooks = times(/workerd|embedded/.test(name) ? 200 : 1_000, (index) => {
        const id = Math.floor(index / 5)
        const at = NOON
        return async () => {
          const limiter = limiters[random(4)]!
          if (id % 4 < 3) {
            return grant(limiter, ACME, { amount: 1 + id, id: `g${id}`, at, kind: 'paid' })
          }
          return adjust(limiter, ACME, { amount: -id, id: `a${id}`, at, reason: 'test' })
        }
      })
      const shuffled = webhooks
        .map((send) => [random(1e6), send] as const)
        .toSorted(([a], [b]) => a - b)
      const changes = await Promise.all(shuffled.map(([, send]) => send()))
      expect(changes.filter(({ applied }) => applied)).toHaveLength(webhooks.length / 5)
      const ids = times(webhooks.length / 5, (id) => id)
      const granted = sumOf(ids.filter((id) => id % 4 < 3).map((id) => id + 1))
      const adjusted = -sumOf(ids.filter((id) => id % 4 === 3))
      expect((await lawful(limiters[0]!)).totals).toMatchObject({ granted, adjusted })
      const revocations = times(30, (index) =>
        revoke(limiters[index % 4]!, ACME, `g${4 * (index % 10)}`, { debt: true }),
      )
      expect((await Promise.all(revocations)).filter(({ applied }) => applied)).toHaveLength(10)
      const revoked = sumOf(times(10, (index) => 4 * index + 1))
      expect((await lawful(limiters[0]!)).totals).toMatchObject({ granted, adjusted, revoked })
    })

    it('settles each reservation once: by its holder, another process, or an operator', async () => {
      const store = make()
      const limiters = times(4, () => limiterOn(store))
      await give(limiters[0]!, 1000, 'g')
      const made = await Promise.all(
        times(16, (index) => reserve(limiters[index % 4]!, ACME, { cost: { [UNIT]: 50 } })),
      )
      const data = made.map((one) => JSON.stringify(one))
      const settlements = times(name.includes('workerd') ? 48 : 96, async (index) => {
        const [limiter, text] = [limiters[index % 4]!, data[index % 16]!]
        const { id } = JSON.parse(text) as { id: string }
        if (index % 3 === 0) return settleHold(limiter, ACME, id, 30)
        return reservation(limiter, text).settle({ [UNIT]: 30 })
      })
      const settled = await Promise.all(settlements)
      expect(settled.filter(({ applied }) => applied)).toHaveLength(16)
      const found = await lawful(limiters[0]!)
      expect(found).toMatchObject({ balance: 1000 - 16 * 30, held: 0, reservations: [] })
    })
  },
)

it('reads a balance as it was at one moment, while others change it', async () => {
  const limiter = limiterOn(memory())
  await give(limiter, 10_000, 'g')
  const looks = times(200, async (index) => {
    if (index % 2 === 0) return balance(limiter, ACME)
    const call = await reserve(limiter, ACME, { cost: { [UNIT]: 20 } })
    if (call.allowed && index % 4 === 1) await call.settle({ [UNIT]: 25 })
    return undefined
  })
  const found = (await Promise.all(looks)).filter((one) => one !== undefined)
  expect(found.map(errorOf)).toEqual(found.map(() => 0))
})

it('refuses the same id for another amount, whichever comes first', async () => {
  const limiter = limiterOn(memory())
  const both = await Promise.all(
    [10, 20].map((amount) =>
      give(limiter, amount, 'g').catch((error: unknown) => (error as InputError).code),
    ),
  )
  expect(both).toEqual([expect.objectContaining({ applied: true, units: 10 }), 'grant_differs'])
})
