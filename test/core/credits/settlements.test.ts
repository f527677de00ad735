/* Settlements that come late, twice, or beside one that fails: a balance counts each call once. */
import { createLimiter, manualClock, slidingWindow, type Policy, type Store } from '@sluice/core'
import { deleteCredits, exportCredits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix, storesOf } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { ACME, give, lawful, limiterOn, policyOf, UNIT } from './support.ts'

const redis = sharedRedis()
const tpm = slidingWindow({
  name: 'tpm',
  limit: 1_000,
  window: '1h',
  per: ['tenant'],
  unit: 'token',
})

const settle = (): never => {
  throw new Error('This charge cannot be corrected')
}

/** A policy whose charges cannot be corrected. */
const broken: Policy = () => {
  const [rule] = tpm()
  const settlement = { settle, lua: () => '' }
  return rule ? [{ ...rule, algorithm: { ...rule.algorithm, settlement } }] : []
}

interface Failing {
  readonly store: Store
  readonly other: Policy
  /** Lets each correction of the other policy fail from now on. */
  readonly fail: () => Promise<unknown>
}

const FAILING: Readonly<Record<string, () => Failing>> = {
  memory: () => ({ store: memory(), other: broken, fail: async () => {} }),
  Redis: () => {
    const prefix = freshPrefix()
    const fail = async (): Promise<unknown> => {
      const [key = ''] = await redis.redis.keys(`${prefix}*tpm*`)
      return redis.redis.set(key, 'something else')
    }
    return { store: redis.store(prefix), other: tpm, fail }
  },
}

describe.each(Object.entries(FAILING))(
  'in %s, beside a charge that cannot be corrected',
  (_, make) => {
    it.each([
      ['below its estimate', 10],
      ['at its estimate', 30],
      ['above its estimate', 45],
    ])(
      'a call that is settled %s is charged once, however often that is repeated',
      async (__, used) => {
        const { store, other, fail } = make()
        const limiter = createLimiter({
          store,
          clock: manualClock(NOON),
          onStoreError: 'deny',
          policies: [policyOf(), other],
        })
        await give(limiter, 100, 'paid')
        const call = await reserve(limiter, ACME, { cost: { [UNIT]: 30, token: 10 } })
        if (!call.allowed) throw new Error(call.reason)
        await fail()
        const settleOnce = () => call.settle({ [UNIT]: used, token: 1 })
        await expect(settleOnce()).rejects.toThrow(/corrected|refused/)
        for (let time = 0; time < 2; time += 1) {
          expect(await settleOnce()).toMatchObject({ applied: false, why: 'settled_before' })
        }
        const { totals, held, available } = await lawful(limiter)
        expect([totals.settled, held, available]).toEqual([used, 0, 100 - used])
      },
    )
  },
)

describe.each([
  'memory',
  'file',
  'redis, built-in transport',
  'durable objects, in this process',
] as const)('in %s, a late settlement', (name) => {
  const make = storesOf(name)

  it('leaves the reservation alone that has its place in an account that began anew', async () => {
    const clock = manualClock(NOON)
    const limiter = limiterOn(make(), { unsettled: 'release' }, { clock })
    await give(limiter, 100, 'first')
    const late = await reserve(limiter, ACME, { cost: { [UNIT]: 50 }, settleWithin: '1m' })
    clock.advance(120_000)
    // Its units are free again, and the account is deleted.
    await limiter.check(ACME, { cost: { [UNIT]: 1 } })
    await deleteCredits(limiter, ACME, { confirm: await exportCredits(limiter, ACME) })
    await give(limiter, 100, 'second')
    const other = await reserve(limiter, ACME, { cost: { [UNIT]: 80 } })
    if (!late.allowed || !other.allowed) throw new Error('There are credits')
    await late.settle({ [UNIT]: 15 })
    expect(await lawful(limiter)).toMatchObject({ available: 5, held: 80, debt: 0 })
    await other.settle({ [UNIT]: 80 })
    expect(await lawful(limiter)).toMatchObject({ available: 5, held: 0, debt: 0 })
  })
})
