/* Prices for who sells model calls on. */
import {
  definePrices,
  findPrice,
  joinPrices,
  LIST_PRICES,
  markedUp,
  priceOf,
  type ModelPrice,
  type Prices,
  type PricedUsage,
} from '@sluice/ai'
import { livePrices, setPrices } from '@sluice/ai/live-prices'
import { withTiers } from '@sluice/ai/tiers'
import { ConfigError, createLimiter, manualClock } from '@sluice/core'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lawfulBalance } from '../../support/balance-law.ts'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { answered, callBy, DOORS, PRICES } from '../fallback/ladder.ts'

const RATES: ModelPrice = {
  input: 1_000_001,
  cachedInput: 100_001,
  cacheWrite: 1_250_001,
  longCacheWrite: 2_000_001,
  output: 10_000_001,
  long: { above: 1_000, input: 2_000_001, output: 15_000_001 },
  maxOutput: 64_000,
  asOf: '2026-11-01',
  source: 'https://vendor.example/prices',
  endsOn: '2027-06-30',
}
const LISTED = definePrices(
  { large: RATES, small: { input: 100_000, output: 1_000_000 } },
  { unknownModel: { input: 20_000_000, output: 80_000_000 } },
)

/** `of` times a whole number, rounded up exactly. */
const times = (of: number, value: number): number =>
  Number((BigInt(value) * BigInt(Math.round(of * 10_000)) + 9_999n) / 10_000n)

describe('prices that are marked up', () => {
  it('are each rate times the factor, rounded up, and nothing else of a price', () => {
    expect(findPrice('large', markedUp(LISTED, 1.5))).toEqual({
      input: 1_500_002,
      cachedInput: 150_002,
      cacheWrite: 1_875_002,
      longCacheWrite: 3_000_002,
      output: 15_000_002,
      long: { above: 1_000, input: 3_000_002, output: 22_500_002 },
      maxOutput: 64_000,
      asOf: '2026-11-01',
      source: 'https://vendor.example/prices',
      endsOn: '2027-06-30',
    })
  })

  it.each([1, 1.0001, 1.1, 1.15, 1.5, 2.3456, 9.99, 100])(
    'are never below the price times %d, and a micro-dollar above it at most',
    (factor) => {
      const sold = markedUp(LISTED, factor)
      const tokens = fc.integer({ min: 0, max: 500_000 })
      fc.assert(
        fc.property(tokens, tokens, tokens, tokens, (input, cachedInput, cacheWrite, output) => {
          const usage = { input, cachedInput, cacheWrite, output }
          const exact = times(factor, exactOf(usage))
          const price = priceOf(usage, 'large', sold) * 1_000_000
          expect(price).toBeGreaterThanOrEqual(exact)
          // The rounding of four rates, and of the sum.
          expect(price - exact).toBeLessThan(1_000_000 + 4 * 500_000)
        }),
      )
    },
  )

  it.each<[string, PricedUsage, string]>([
    [
      'other models in the same call',
      { input: 500, output: 100, otherModels: [other(40)] },
      'large',
    ],
    ['a cost that the answer tells', { input: 10, output: 10, cost: 40_001 }, 'large'],
    ['a model that is not listed', { input: 10, output: 10 }, 'unknown'],
    ['a long input', { input: 5_000, output: 10 }, 'large'],
  ])('hold for %s', (_, usage, model) => {
    const { cost = 0 } = usage
    const sold = priceOf(usage, model, markedUp(LISTED, 2))
    expect(sold).toBeGreaterThanOrEqual(2 * (cost || priceOf(usage, model, LISTED) - 1))
    expect(sold).toBeLessThanOrEqual(2 * (cost || priceOf(usage, model, LISTED)))
  })

  it('hold for service tiers, those of models without one of their own as well', () => {
    const round = definePrices(
      {
        large: { input: 1_000_000, output: 10_000_000 },
        small: { input: 100_000, output: 1_000_000 },
      },
      { unknownModel: { input: 20_000_000, output: 80_000_000 } },
    )
    const tiers = withTiers(round, { fast: { large: { input: 3_000_000, output: 30_000_000 } } })
    const sold = markedUp(tiers, 1.5)
    for (const [model, tier] of [
      ['large', 'fast'],
      ['small', 'fast'],
      ['large', 'turbo'],
      ['large', 'default'],
      ['gpt', 'fast'],
    ] as const) {
      const usage = { input: 1_000_000, output: 1_000_000, tier }
      expect(priceOf(usage, model, sold), `${model} ${tier}`).toBe(
        Math.ceil(priceOf(usage, model, tiers) * 1.5),
      )
    }
    expect([sold.hasTier('fast', 'large'), sold.hasTier('fast', 'small')]).toEqual([true, false])
  })

  it('list the same models under the same names, of joined tables as well', () => {
    const sold = markedUp(joinPrices(definePrices({ own: RATES }), LIST_PRICES), 1.25)
    expect(sold.models().size).toBe(LIST_PRICES.models().size + 1)
    expect(sold.nameOf('openai/gpt-4o-2024-08-06')).toBe('gpt-4o')
    expect(findPrice('gpt-4o-2024-08-06', sold).output).toBe(12_500_000)
    expect(sold.models().get('gpt-4o')?.output).toBe(12_500_000)
  })

  it('leave prices alone that are listed on top of them, and are left alone below', () => {
    const sold: Prices = definePrices(
      { small: { input: 300_000, output: 3_000_000 } },
      { base: markedUp(LISTED, 1.5) },
    )
    expect(findPrice('small', sold).output).toBe(3_000_000)
    expect(findPrice('large', sold).output).toBe(15_000_002)
    expect(findPrice('unknown', sold).output).toBe(120_000_000)
    expect(findPrice('large', LISTED)).toEqual(RATES)
    expect(findPrice('unknown', definePrices({}, { base: sold, unknownModel: RATES })).output).toBe(
      RATES.output,
    )
  })

  it('refuse a model without a price as before', () => {
    const sold = markedUp(definePrices({ large: RATES }), 1.5)
    expect(() => findPrice('unknown', sold)).toThrow(/has no price/)
  })

  it('follow prices that change while the app runs', async () => {
    const list = livePrices({ base: LISTED, allowLower: true })
    const limiter = createLimiter({
      store: memory(),
      onStoreError: 'deny',
      policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
      extensions: [list],
    })
    const sold = markedUp(list, 1.5)
    await setPrices(limiter, { large: { input: 2_000_000, output: 20_000_000 } }, { by: 'ann' })
    await list.live?.refresh()
    expect(findPrice('large', sold).output).toBe(30_000_000)
    expect(sold.live).toBe(list.live)
  })

  it.each([0.99, 0, -1, 100.1, 1.000_01, Number.NaN, Infinity, '1.5', undefined])(
    'refuse the factor %s',
    (factor) => {
      expect(() => markedUp(LISTED, factor as never)).toThrow(
        /markedUp\.factor: must be from 1 to 100, with at most four decimals/,
      )
    },
  )

  it('refuse another table', () => {
    expect(() => markedUp({} as never, 1.5)).toThrow(ConfigError)
  })
})

describe.each(Object.keys(DOORS))('%s with prices that are marked up', (door) => {
  it('reserves, settles and reports what the customer pays', async () => {
    const prices = markedUp(PRICES, 1.5)
    const limiter = createLimiter({
      store: memory(),
      clock: manualClock(NOON),
      onStoreError: 'deny',
      policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
    })
    await grant(limiter, ACME, { amount: 20_000, id: 'g', at: NOON, kind: 'paid' })
    const heldAt = async (options: object) => {
      let held = 0
      await callBy(door, {
        limiter,
        list: [],
        options: { ...options, maxOutput: 1_000 },
        answer: async (sent) => {
          ;({ held } = await lawfulBalance(limiter))
          return answered(sent)
        },
      })
      return held
    }
    const listed = await heldAt({ prices: PRICES })
    const sold = await heldAt({ prices })
    expect(Math.abs(sold - listed * 1.5)).toBeLessThanOrEqual(2)
    // 10 tokens of input and 50 of output.
    expect(await lawfulBalance(limiter)).toMatchObject({ totals: { settled: 510 + 765 } })
  })
})

function other(output: number) {
  return {
    model: 'small',
    input: 0,
    cachedInput: 0,
    cacheWrite: 0,
    longCacheWrite: 0,
    output,
    reasoning: 0,
  }
}

/** A millionth of a micro-dollar that a usage costs by the list. */
function exactOf({
  input,
  cachedInput,
  cacheWrite,
  output,
}: Required<Pick<PricedUsage, 'input' | 'cachedInput' | 'cacheWrite' | 'output'>>): number {
  const { long, ...usual } = RATES
  const rates: ModelPrice = long && input > long.above ? long : usual
  return (
    Math.max(0, input - cachedInput - cacheWrite) * rates.input +
    cachedInput * (rates.cachedInput ?? rates.input) +
    cacheWrite * (rates.cacheWrite ?? rates.input) +
    output * rates.output
  )
}
