import { createLimiter, dailyCap, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { fitRange, peekFit, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../../support/limiters.ts'
import { loosely, mistakesAreNamed } from '../../../support/mistakes.ts'
import { PER_TOKEN, TOKENS, tokensPerDay } from './support.ts'

describe('a fit', () => {
  it('does not compile with a unit that no policy counts, and throws', async () => {
    const policy = dailyCap({ name: 'day', limit: 80, ...TOKENS })
    const limiter = createLimiter({ store: memory(), policies: [policy] })
    const fit = fitRange({ floor: 1, most: 2, rates: { tokens: 1_000_000 } })
    // @ts-expect-error -- `tokens` is misspelt
    await expect(reserve(limiter, ACME, { cost: { token: 1 }, fit })).rejects.toMatchObject({
      code: 'invalid_cost',
    })
    await expect(
      // @ts-expect-error -- not created by fitRange
      reserve(limiter, ACME, { fit: { floor: 1, most: 2, rates: PER_TOKEN } }),
    ).rejects.toMatchObject({ code: 'invalid_cost', input: 'fit' })
  })

  it.each([
    ['below 0', { token: -100 }],
    ['that is null', null],
    ['that is a list', []],
  ])('refuses a cost %s, which the cost of the floor must not hide', async (_, cost) => {
    const limiter = setUp([tokensPerDay(1_000)]).limiter
    const fit = fitRange({ floor: 200, most: 400, rates: PER_TOKEN })
    const invalid = { code: 'invalid_cost' }
    await expect(reserve(limiter, ACME, { cost: cost as never, fit })).rejects.toMatchObject(
      invalid,
    )
    await expect(peekFit(limiter, ACME, { cost: cost as never, fit })).rejects.toMatchObject(
      invalid,
    )
  })

  it('stays exact at the largest rates', async () => {
    const limit = 10 ** 12
    const clock = manualClock(0)
    const policies = [dailyCap({ name: 'money', limit, per: ['tenant'], unit: 'usd' })]
    const limiter = createLimiter({ store: memory(), policies, clock })
    const fit = fitRange({ floor: 1, most: 4_503, rates: { usd: 10 ** 12 } })
    const decision = await reserve(limiter, ACME, { cost: { usd: limit - 10 ** 9 - 1 }, fit })
    expect(decision).toMatchObject({ granted: 1_000, policies: [{ remaining: 1 }] })
  })
})

describe('a mistake in fitRange', () => {
  const make = loosely(fitRange)
  const good = { floor: 1, most: 10, rates: PER_TOKEN }
  mistakesAreNamed([
    ['an unknown option', () => make({ ...good, max: 5 }), 'fitRange.max', 'unknown_option'],
    ['no floor', () => make({ most: 10, rates: PER_TOKEN }), 'fitRange.floor'],
    ['a floor of 0', () => make({ ...good, floor: 0 }), 'fitRange.floor'],
    ['a floor above the most', () => make({ ...good, floor: 11 }), 'fitRange.floor'],
    ['a most that is not whole', () => make({ ...good, most: 1.5 }), 'fitRange.most'],
    ['no rates', () => make({ ...good, rates: {} }), 'fitRange.rates'],
    ['a rate per token', () => make({ ...good, rates: { usd: 2.5 } }), 'fitRange.rates.usd'],
    [
      'a rate of requests',
      () => make({ ...good, rates: { request: 1 } }),
      'fitRange.rates.request',
    ],
    [
      'a product past 2^52',
      () => make({ ...good, most: 10 ** 6, rates: { usd: 10 ** 12 } }),
      'fitRange.rates.usd',
    ],
  ])
})
