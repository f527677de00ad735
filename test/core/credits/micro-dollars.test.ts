import { createLimiter, definePlans, manualClock, type Plans, type Policy } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import {
  adjust,
  balance,
  credits,
  grant,
  lowBalance,
  revoke,
  settleHold,
  type CreditsOptions,
} from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

const SAYS = 'must be micro-dollars, such as usd(10)'
const resets = calendar({ every: 'month' })
const policyOf = (options: Partial<CreditsOptions<readonly ['tenant']>>): Policy =>
  credits({ name: 'credits', per: ['tenant'], unsettled: 'keep', ...options })

function limiterOf(options: Partial<CreditsOptions<readonly ['tenant']>>, more: object = {}) {
  const clock = manualClock(NOON)
  const policies = [policyOf(options)]
  return createLimiter({ store: memory(), clock, onStoreError: 'deny', policies, ...more })
}

type Mistake = (unit: string, amount: number) => unknown

const CHANGE = { id: 'a', at: NOON, reason: 'Outage', kind: 'paid' } as const

/** The options that are amounts of money, each set to a number of a unit. */
const OPTIONS: Readonly<Record<string, Mistake>> = {
  'amount of a grant': (unit, amount) => grant(limiterOf({ unit }), ACME, { ...CHANGE, amount }),
  'lowBalance.below': (unit, below) =>
    limiterOf({ unit }, { extensions: [lowBalance({ below, tell: () => undefined })] }),
  'credits.included.amount': (unit, amount) => limiterOf({ unit, included: { amount, resets } }),
  'credits.included.rollover': (unit, rollover) =>
    limiterOf({ unit, included: { amount: 2_000, resets, rollover } }),
  'policies.credits.included.amount for plan "free"': (unit, amount) => {
    const plans: Plans = definePlans({ pro: { money: 5_000 }, free: { money: amount } })
    return limiterOf({ unit, included: { amount: ({ plan }) => plan['money'], resets } }, { plans })
  },
}

describe.each(Object.entries(OPTIONS))('%s', (name, make) => {
  const says = `${name.split(' of a ')[0]}: ${SAYS}`

  it.each([1, 5, 999])('is no dollars: %d', async (amount) => {
    await expect((async () => make('usd', amount))()).rejects.toThrow(says)
  })

  it('is a tenth of a cent, or any number of another unit', async () => {
    for (const [unit, amount] of [
      ['usd', 1_000],
      ['credit', 5],
    ] as const) {
      await expect((async () => make(unit, amount))()).resolves.toBeDefined()
    }
  })
})

describe('an allowance', () => {
  it.each([0, 'unlimited'] as const)('of %s is one of dollars, too', (amount) => {
    const plans: Plans = definePlans({ one: { money: amount } })
    const ofPlan: CreditsOptions['included'] = { amount: ({ plan }) => plan['money'], resets }
    expect(() => limiterOf({ included: { amount, resets, rollover: 0 } })).not.toThrow()
    expect(() => limiterOf({ included: ofPlan }, { plans })).not.toThrow()
  })
})

it('a correction of dollars may be of any number of units: a cheap call costs fewer than a thousand', async () => {
  const limiter = limiterOf({})
  const { kind: _, ...change } = CHANGE
  await adjust(limiter, ACME, { ...change, amount: 420 })
  expect((await balance(limiter, ACME)).available).toBe(420)
  await adjust(limiter, ACME, { ...change, id: 'b', amount: -37 })
  expect((await balance(limiter, ACME)).available).toBe(383)
})

it('a reservation of dollars may be settled with any number of units', async () => {
  const limiter = limiterOf({})
  await grant(limiter, ACME, { ...CHANGE, amount: 5_000 })
  for (const used of [0, 1]) {
    await reserve(limiter, ACME, { cost: { usd: 10 } })
    const { reservations } = await balance(limiter, ACME)
    const change = await settleHold(limiter, ACME, reservations[0]?.id ?? '', used)
    expect(change.applied).toBe(true)
  }
  expect((await balance(limiter, ACME)).available).toBe(4_999)
})

it.each(['yes', 1, null])('debt: %j is refused, and nothing is taken', async (debt) => {
  const limiter = limiterOf({})
  await grant(limiter, ACME, { ...CHANGE, amount: 5_000 })
  await expect(revoke(limiter, ACME, 'a', { debt } as never)).rejects.toMatchObject({
    code: 'invalid_grant',
    input: 'debt',
    message: expect.stringContaining('must be true or false') as string,
  })
  expect((await balance(limiter, ACME)).available).toBe(5_000)
  expect((await revoke(limiter, ACME, 'a', { debt: undefined } as never)).units).toBe(5_000)
})
