import { assertOptions } from '@sluice/core/internal'
import { withOwnOptions } from '../own-options.ts'
import { assertPrices } from './price-rules.ts'
import { definePrices, type ModelPrice, type Prices } from './prices.ts'

/** Prices by service tier and model. A tier is named as answers name it; `fast` is Anthropic's fast mode. */
export type TierPrices = Readonly<Record<string, Readonly<Record<string, ModelPrice>>>>

/**
 * Adds the prices of service tiers to a table. An answer that names a tier is charged at the price of its model in
 * that tier, or, where it has none, at the highest price that is listed for the model. A call that asks for a tier,
 * which `allowFields` must allow, reserves at the same price.
 *
 * @throws ConfigError When a price is missing or malformed; the error names the place.
 * @example
 * const prices = withTiers(LIST_PRICES, LIST_TIERS)
 * const own = withTiers(LIST_PRICES, { flex: { 'gpt-5': { input: 625_000, output: 5_000_000 } } })
 */
export function withTiers(prices: Prices, tiers: TierPrices): Prices {
  assertPrices('withTiers.prices', prices)
  assertOptions('withTiers.tiers', tiers)
  const tables = new Map<string, Prices>()
  for (const [tier, models] of Object.entries(tiers)) {
    const table = withOwnOptions(`withTiers.tiers.${tier}`, '', () => definePrices(models))
    tables.set(tier, table)
  }
  return {
    ...prices,
    findPrice(model, tier = '') {
      const price = prices.findPrice.call(this, model, tier)
      if (tier === '' || prices.hasTier(tier, model)) return price
      const ofTier = listed(tables.get(tier), model)
      if (ofTier) return ofTier
      const all = [...tables.values()].map((table) => listed(table, model) ?? price)
      return all.reduce((one, other) => (one.output < other.output ? other : one), price)
    },
    hasTier: (tier, model) =>
      prices.hasTier(tier, model) || listed(tables.get(tier), model) !== undefined,
  }
}

const listed = (prices: Prices | undefined, model: string | undefined): ModelPrice | undefined =>
  prices?.get(prices.nameOf(model) ?? '')

/** Dollars per million tokens, as the page prints them. */
const rates = (input: number, cachedInput: number, output: number): ModelPrice => ({
  input: Math.round(input * 1e6),
  cachedInput: Math.round(cachedInput * 1e6),
  output: Math.round(output * 1e6),
  asOf: '2026-11-01',
  source: 'https://openai.com/api-priority-processing',
})

/** List prices of OpenAI's priority tier. */
export const LIST_TIERS: TierPrices = {
  priority: {
    'gpt-5.5': rates(12.5, 1.25, 75),
    'gpt-5.4': rates(5, 0.5, 30),
    'gpt-5.4-mini': rates(1.5, 0.15, 9),
    'gpt-5.2': rates(3.5, 0.35, 28),
    'gpt-5.1': rates(2.5, 0.25, 20),
    'gpt-5': rates(2.5, 0.25, 20),
    'gpt-5-mini': rates(0.45, 0.045, 3.6),
    'gpt-4.1': rates(3.5, 0.875, 14),
    'gpt-4.1-mini': rates(0.7, 0.175, 2.8),
    'gpt-4.1-nano': rates(0.2, 0.05, 0.8),
    'gpt-4o': rates(4.25, 2.125, 17),
    'gpt-4o-2024-05-13': rates(8.75, 8.75, 26.25),
    'gpt-4o-mini': rates(0.25, 0.125, 1),
    o3: rates(3.5, 0.875, 14),
    'o4-mini': rates(2, 0.5, 8),
  },
}
