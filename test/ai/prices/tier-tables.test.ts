import { definePrices, LIST_PRICES, priceOf, type Prices } from '@sluice/ai'
import { livePrices } from '@sluice/ai/live-prices'
import { LIST_TIERS, withTiers } from '@sluice/ai/tiers'
import { describe, expect, it } from 'vitest'
import { loosely, mistakesAreNamed } from '../../support/mistakes.ts'
import { forAll, LISTED, PRICES } from './tiered.ts'

describe('a table of prices with tiers', () => {
  const usage = { input: 1_000_000, output: 0 }

  it('prices each tier by its own list, and one that is not listed by the dearest', () => {
    expect(priceOf(usage, 'gpt-4o', PRICES)).toBe(1_000_000)
    expect(priceOf({ ...usage, tier: 'flex' }, 'gpt-4o', PRICES)).toBe(500_000)
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', PRICES)).toBe(6_000_000)
    // A table without tiers has one price.
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', LISTED)).toBe(1_000_000)
  })

  it('has the prices of a long input, and of the snapshots of a model', () => {
    const rate = { input: 2_000, output: 2_000 }
    const long = { above: 10, input: 9_000, output: 9_000 }
    const own = withTiers(LISTED, { priority: { 'gpt-4o': { ...rate, long } } })
    const priority = { ...usage, tier: 'priority' }
    expect(priceOf(priority, 'openai/gpt-4o-2024-08-06', own)).toBe(9_000)
    expect(priceOf({ ...priority, input: 10 }, 'gpt-4o', own)).toBe(1)
  })

  it.each([
    [
      'definePrices',
      (base: Prices) => definePrices({ own: { input: 3_000_000, output: 0 } }, { base }),
    ],
    ['livePrices', (base: Prices) => livePrices({ base })],
  ])('keeps its tiers below %s', (_, madeOf) => {
    const made = madeOf(PRICES)
    expect(priceOf({ ...usage, tier: 'priority' }, 'gpt-4o', made)).toBe(2_000_000)
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', made)).toBe(6_000_000)
    expect([made.hasTier('priority', 'gpt-4o'), made.hasTier('turbo', 'gpt-4o')]).toEqual([
      true,
      false,
    ])
  })

  it('may be extended by another, and copied with another price of unknown models', () => {
    const both = withTiers(PRICES, { batch: { 'gpt-4o': { input: 250_000, output: 0 } } })
    expect(priceOf({ ...usage, tier: 'batch' }, 'gpt-4o', both)).toBe(250_000)
    expect(priceOf({ ...usage, tier: 'flex' }, 'gpt-4o', both)).toBe(500_000)
    const copy = { ...PRICES, unknownModel: { input: 7_000, output: 0 } }
    expect(priceOf({ ...usage, tier: 'priority' }, 'other', copy)).toBe(7_000)
    expect(() => priceOf({ ...usage, tier: 'priority' }, 'other', PRICES)).toThrow('has no price')
  })

  /** Dollars of a million tokens of input and of output: a short one, and one of 300,000 tokens of input. */
  const PAGES: Readonly<Record<string, readonly (readonly [string, number[], number[]?])[]>> = {
    'https://openai.com/api-fast-mode': [
      ['priority gpt-5.6-sol', [8, 40], [16, 60]],
      ['priority gpt-5.6-terra', [4, 24], [8, 36]],
      ['priority gpt-5.6-luna', [0.4, 2.4], [0.8, 3.6]],
      ['priority gpt-5.5', [12.5, 75]],
      ['fast gpt-5.4-mini', [1.5, 9]],
      ['priority gpt-5-codex', [2.5, 20]],
    ],
    // As of 2026-09-13.
    'https://developers.openai.com/api/docs/pricing': [
      ['fast gpt-6-astra', [20, 100], [40, 150]],
      ['flex gpt-6-astra', [5, 25], [10, 37.5]],
    ],
    'https://developers.openai.com/api/docs/models': [
      ['fast gpt-6-luna', [0.2, 1], [0.4, 1.5]],
      ['flex gpt-6-luna', [0.05, 0.25]],
      ['fast gpt-6.1-sol', [4, 20], [8, 30]],
      ['flex gpt-6.1-sol', [1, 5]],
      ['ultrafast gpt-6.1-sol', [12, 60]],
      ['fast gpt-6.1-terra', [2, 10]],
      ['flex gpt-6.1-terra', [0.5, 2.5]],
      ['fast gpt-6.2-sol', [4, 20]],
      ['ultrafast gpt-6.2-sol', [12, 60]],
    ],
  }
  const all = withTiers(LIST_PRICES, LIST_TIERS)
  const dollars = (model: string, tier: string, input: number): number[] => {
    const ofInput = priceOf({ input, output: 0, tier }, model, all)
    const ofBoth = priceOf({ input, output: 1_000_000, tier }, model, all)
    return [ofInput / input, (ofBoth - ofInput) / 1e6]
  }

  it.each(
    Object.entries(PAGES).flatMap(([page, rows]) =>
      rows.map(([name, ...lengths]) => ({ name, lengths, page })),
    ),
  )('lists $name as $page does', ({ name, lengths }) => {
    const [tier = '', model = ''] = name.split(' ')
    expect(all.hasTier(tier, model)).toBe(true)
    const charged = [100_000, 300_000].map((input) => dollars(model, tier, input))
    expect(charged.slice(0, lengths.length)).toEqual(lengths)
  })

  it('charges a listed model in a tier that lists others alone at the highest multiple of these', () => {
    const least = { priority: 2, fast: 2, ultrafast: 6, flex: 1 }
    const models = [...LIST_PRICES.models().keys()]
    for (const [tier, times] of Object.entries(least)) {
      const missing = models.filter((model) => !all.hasTier(tier, model))
      expect(missing).toContain('gpt-6.2-astra')
      for (const model of missing) {
        for (const input of [100_000, 300_000]) {
          const [standard, inTier] = ['default', tier].map((one) => dollars(model, one, input))
          inTier?.forEach((price, at) => {
            expect(price / times).toBeGreaterThanOrEqual((standard?.[at] ?? 0) - 1e-9)
          })
        }
      }
    }
    // Claude's fast mode is twice its list.
    expect(dollars('claude-opus-5-5', 'fast', 1_000)[1]).toBeGreaterThanOrEqual(40)
    expect(dollars('gpt-5.6-sol', 'ultrafast', 1_000)).toEqual([24, 120])
  })

  it('charges a tier that lists no model at the highest price of the model, and at its list at least', () => {
    expect(dollars('gpt-6.1-sol', 'turbo', 1_000)).toEqual([12, 60])
    expect(dollars('gpt-4o', 'turbo', 1_000)).toEqual([4.25, 17])
    expect(dollars('gpt-6.2-astra', 'turbo', 1_000)).toEqual([48, 240])
    const cheap = withTiers(LISTED, { flex: forAll({ input: 500_000, output: 5_000_000 }) })
    expect(priceOf({ ...usage, tier: 'turbo' }, 'gpt-4o', cheap)).toBe(1_000_000)
    // Without output, the input alone tells the dearest.
    const table = definePrices({ embed: { input: 20_000, output: 0 } })
    const embed = withTiers(table, { fast: { embed: { input: 40_000, output: 0 } } })
    expect(priceOf({ ...usage, tier: 'turbo' }, 'embed', embed)).toBe(40_000)
  })

  const priority = loosely((models: never) => withTiers(LISTED, { priority: models }))
  const price = { input: 1_000, output: 1_000 }
  mistakesAreNamed([
    ['no table', () => withTiers({ m: price } as never, {}), 'withTiers.prices'],
    ['no tiers', () => withTiers(LISTED, 'priority' as never), 'withTiers.tiers'],
    ['no models', () => priority('gpt-4o'), 'withTiers.tiers.priority'],
    ['no output', () => priority({ m: { input: 1_000 } }), 'withTiers.tiers.priority.m.output'],
    [
      'no known price',
      () => priority({ m: { ...price, cost: 1 } }),
      'withTiers.tiers.priority.m.cost',
      'unknown_option',
    ],
    [
      'a length below 0',
      () => priority({ m: { ...price, long: { ...price, above: -1 } } }),
      'withTiers.tiers.priority.m.long.above',
    ],
  ])
})
