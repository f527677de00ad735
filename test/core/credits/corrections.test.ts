import { manualClock } from '@sluice/core'
import { adjust, grant, revoke, type GrantOptions } from '@sluice/core/credits'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, NOON } from '../../support/times.ts'
import { ACME, give, lawful, limiterOn, spend } from './support.ts'

const redis = sharedRedis()
const MONTHLY = { amount: 20, resets: calendar({ every: 'month' }) }

describe.each(['memory', 'redis'] as const)('a balance in %s', (name) => {
  const make = (options = {}, more = {}) =>
    limiterOn(name === 'memory' ? memory() : redis.store(), options, more)
  const take = (limiter: ReturnType<typeof make>, units: number, id = 'refund') =>
    adjust(limiter, ACME, { amount: -units, id, at: NOON, reason: 'Refund' })
  const leftIn = async (limiter: ReturnType<typeof make>) =>
    (await lawful(limiter)).lots.map(({ kind, left }) => [kind, left])

  it('loses the paid units of a partial refund, not the allowance, which is renewed', async () => {
    const limiter = make({ included: MONTHLY })
    await spend(limiter, 1)
    await give(limiter, 10, 'p')
    expect(await take(limiter, 4)).toMatchObject({ available: 25, debt: 0 })
    expect(await leftIn(limiter)).toEqual([
      ['included', 19],
      ['paid', 6],
    ])
    expect(await take(limiter, 9, 'more')).toMatchObject({ available: 16, debt: 0 })
    expect(await leftIn(limiter)).toEqual([['included', 16]])
    expect(await take(limiter, 20, 'all')).toMatchObject({ available: 0, debt: 4 })
  })

  it('is corrected in paid lots before promotional ones, and in what lasts before the rest', async () => {
    const limiter = make()
    const lots: Readonly<Record<string, Partial<GrantOptions>>> = {
      lasting: { kind: 'paid', priority: 0 },
      later: { kind: 'paid', priority: 0, effectiveAt: NOON + DAY },
      longest: { kind: 'paid', priority: 900, expiresAt: NOON + 300 * DAY },
      shortest: { kind: 'paid', expiresAt: NOON + 3 * DAY },
      gift: { kind: 'promotional', priority: 900 },
      voucher: { kind: 'promotional', expiresAt: NOON + 300 * DAY },
    }
    for (const [index, [id, lot]] of Object.entries(lots).entries()) {
      // Each has another amount, by which it is known.
      const amount = 2 ** index
      await grant(limiter, ACME, { amount, id, at: NOON, ...lot } as GrantOptions)
    }
    const gone: number[] = []
    const all = async () => (await lawful(limiter)).lots.map(({ left }) => left)
    for (const amount of [1, 2, 4, 8, 16, 32]) {
      const before = await all()
      await take(limiter, amount, `a${amount}`)
      const after = await all()
      gone.push(...before.filter((left) => !after.includes(left)))
    }
    expect(gone).toEqual([1, 2, 4, 8, 16, 32])
  })

  it('owes all of a grant that is revoked with a debt, also units that have expired unused', async () => {
    const clock = manualClock(NOON)
    const limiter = make({}, { clock })
    const paid = { amount: 10, id: 'p', at: NOON, kind: 'paid', expiresAt: NOON + DAY } as const
    await grant(limiter, ACME, paid)
    await spend(limiter, 5)
    clock.advance(2 * DAY)
    expect(await revoke(limiter, ACME, 'p')).toMatchObject({ units: 0, debt: 0 })
    expect(await revoke(limiter, ACME, 'p', { debt: true })).toMatchObject({ units: 10, debt: 10 })
    const expired = { amount: 5, id: 'expired', at: NOON, reason: 'Expired unused' }
    expect(await adjust(limiter, ACME, expired)).toMatchObject({ debt: 5 })
    expect((await lawful(limiter)).totals).toMatchObject({ expired: 5, settled: 5, revoked: 10 })
  })
})
