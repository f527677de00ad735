import { createLimiter } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { adjust, balance, grant, journal, settleHold } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, HOUR, NOON } from '../../support/times.ts'
import { ACME, give, lawful, limiterOn, policyOf, spend, UNIT } from './support.ts'

const redis = sharedRedis()
const PAID = { amount: 1, at: NOON, kind: 'paid' } as const

const included = (amount: number) => ({ amount, resets: calendar({ every: 'month' }) })

describe.each(['memory', 'redis'] as const)('a balance in %s', (name) => {
  const make = () => (name === 'memory' ? memory() : redis.store())

  it('has 64 lots, and a grant into one of them is no lot more', async () => {
    const limiter = limiterOn(make())
    const lot = (n: number, id = `g${n}`) =>
      grant(limiter, ACME, { ...PAID, id, expiresAt: NOON + DAY + n * HOUR })
    for (let n = 0; n < 64; n += 1) await lot(n)
    await expect(lot(64)).rejects.toMatchObject({ code: 'too_many_lots' })
    expect((await lot(63, 'merged')).applied).toBe(true)
    const { lots } = await lawful(limiter)
    expect(lots).toHaveLength(64)
    expect(lots.at(-1)).toMatchObject({ left: 2, priority: 100 })
  })

  it('refuses a grant of more than 90 days ago, and one from the future', async () => {
    const limiter = limiterOn(make())
    const of = (at: number) => grant(limiter, ACME, { ...PAID, id: `g${at}`, at })
    expect((await of(NOON - 90 * DAY)).applied).toBe(true)
    await expect(of(NOON - 90 * DAY - 1)).rejects.toMatchObject({ code: 'grant_too_old' })
    await expect(of(NOON + 2 * DAY)).rejects.toMatchObject({ code: 'invalid_grant' })
    const times = { effectiveAt: NOON + HOUR, expiresAt: NOON + HOUR }
    await expect(grant(limiter, ACME, { ...PAID, id: 'e', ...times })).rejects.toMatchObject({
      code: 'invalid_grant',
    })
  })

  it('lets an operator settle what its holder then settles no more', async () => {
    const limiter = limiterOn(make())
    await give(limiter, 100, 'g')
    const calls = [10, 20].map((units) =>
      reserve(limiter, ACME, { cost: { [UNIT]: units }, id: 'same' }),
    )
    const [first] = await Promise.all(calls)
    const data = JSON.stringify(first)
    await settleHold(limiter, ACME, 'same', 4)
    expect((await reservation(limiter as never, data).settle({ [UNIT]: 9 })).applied).toBe(false)
    const { totals, reservations } = await lawful(limiter)
    expect(totals.settled).toBe(4)
    expect(reservations.map(({ units }) => units)).toEqual([20])
  })

  it('is one of several that the caller names', async () => {
    const policies = [policyOf(), policyOf({ name: 'gifts', ledger: 'gifts' })]
    const limiter = createLimiter({ store: make(), onStoreError: 'deny', policies })
    await expect(balance(limiter, ACME)).rejects.toMatchObject({ code: 'invalid_option' })
    const change = { amount: 7, id: 'a', at: Date.now(), reason: 'test' }
    await adjust(limiter, ACME, { ...change, policy: 'gifts' })
    expect((await balance(limiter, ACME, { policy: 'gifts' })).balance).toBe(7)
    expect((await balance(limiter, ACME, { policy: 'credits' })).balance).toBe(0)
    expect((await adjust(limiter, ACME, { ...change, policy: 'credits' })).applied).toBe(true)
  })

  it('adds what a larger plan includes once, whichever deploy asks', async () => {
    const store = make()
    const limiters = [10, 30].map((amount) => limiterOn(store, { included: included(amount) }))
    for (let call = 0; call < 6; call += 1) await spend(limiters[call % 2]!, 1)
    expect(await lawful(limiters[1]!)).toMatchObject({ balance: 24, totals: { granted: 30 } })
  })

  it('writes the spending of an hour before the next change, and not with each charge', async () => {
    const limiter = limiterOn(make())
    await give(limiter, 50, 'g')
    for (let call = 0; call < 3; call += 1) await spend(limiter, 10)
    await give(limiter, 5, 'h')
    const entries = await journal(limiter, ACME)
    expect(entries.map(({ kind, units, sum }) => [kind, units, sum])).toEqual([
      ['granted', 50, 50],
      ['spent', -30, 20],
      ['granted', 5, 25],
    ])
  })
})
