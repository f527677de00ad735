/* A table of prices whose tiers cost other multiples of the list. */
import { definePrices, type ModelPrice } from '@sluice/ai'
import { withTiers } from '@sluice/ai/tiers'

const MODELS = ['gpt-4o', 'gpt-5.6-terra', 'claude-opus-4-5']

export const forAll = (price: ModelPrice): Record<string, ModelPrice> =>
  Object.fromEntries(MODELS.map((model) => [model, price]))

export const LISTED = definePrices(forAll({ input: 1_000_000, output: 10_000_000 }))
export const PRICES = withTiers(LISTED, {
  priority: forAll({ input: 2_000_000, output: 20_000_000 }),
  flex: forAll({ input: 500_000, output: 5_000_000 }),
  fast: forAll({ input: 6_000_000, output: 60_000_000 }),
})
