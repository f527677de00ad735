import { assertOptions } from '@sluice/core/internal'
import { withOwnOptions } from '../own-options.ts'
import { OPENAI_PRICES } from './openai.ts'
import { assertPrices, RATES } from './price-rules.ts'
import { definePrices, type ModelPrice, type Prices } from './prices.ts'
import { scaledPrice } from './scaled-price.ts'

/** Prices by service tier and model. A tier is named as answers name it. */
export type TierPrices = Readonly<Record<string, Readonly<Record<string, ModelPrice>>>>

/**
 * Adds the prices of service tiers to a table. An answer that names a tier is charged at the price of its model in
 * that tier. If the tier lists other models alone, it costs as many times the price of the model as it does at most of
 * another, and at least that price. If no model has the tier, the highest price of the model in another one applies. A
 * call that asks for a tier, which `allowFields` must allow, reserves at the same price.
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
      const ofTier = tables.get(tier)
      const own = listed(ofTier, model)
      if (own) return own
      const candidates = ofTier ? [ofTier] : [...tables.values()]
      const others = candidates.flatMap((table) => listed(table, model) ?? [])
      if (others.length === 0 && this.nameOf(model) !== undefined) {
        const usual = prices.findPrice.call(this, model)
        others.push(scaledPrice(usual, highestPercent(candidates, this)))
      }
      return others.reduce((one, other) => (sumOf(one) < sumOf(other) ? other : one), price)
    },
    hasTier: (tier, model) =>
      prices.hasTier(tier, model) || listed(tables.get(tier), model) !== undefined,
  }
}

const listed = (prices: Prices | undefined, model: string | undefined): ModelPrice | undefined =>
  prices?.get(prices.nameOf(model) ?? '')

const sumOf = ({ input, output }: ModelPrice): number => input + output

/** Returns how many percent of the list a model of these tiers costs at most. At least 100. */
function highestPercent(tiers: readonly Prices[], list: Prices): number {
  let highest = 100
  for (const [name, price] of tiers.flatMap((table) => [...table.models()])) {
    const usual = listed(list, name)
    for (const rate of RATES) {
      const percent = Math.ceil(((price[rate] ?? 0) * 100) / (usual?.[rate] || Infinity))
      highest = Math.max(highest, percent)
    }
  }
  return highest
}

/** Dollars per million tokens, as the page prints them. */
const rates = (input: number, cachedInput: number, output: number): ModelPrice => ({
  input: Math.round(input * 1e6),
  cachedInput: Math.round(cachedInput * 1e6),
  output: Math.round(output * 1e6),
  asOf: '2026-11-01',
  source: 'https://openai.com/api-fast-mode',
})

/** Returns the prices of models as a multiple of the list, which their pages state. */
const multiples = (percent: number, names: string): Record<string, ModelPrice> =>
  Object.fromEntries(
    names.split(' ').map((name) => {
      const price = scaledPrice(OPENAI_PRICES.get(name)!, percent)
      const source = `https://developers.openai.com/api/docs/models/${name}`
      return [name, { ...price, asOf: '2026-11-28', source }]
    }),
  )

/**
 * OpenAI's fast mode, once the priority tier. Answers call it `priority` up to GPT-5.6, and `fast` from GPT-6 on.
 * https://developers.openai.com/api/docs/guides/fast-mode
 */
const fastPrices = (): TierPrices[string] => ({
  ...multiples(
    200,
    'gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-6-astra gpt-6-luna gpt-6.1-sol gpt-6.1-terra gpt-6.2-sol',
  ),
  'gpt-5.5': rates(12.5, 1.25, 75),
  'gpt-5.4': rates(5, 0.5, 30),
  'gpt-5.4-mini': rates(1.5, 0.15, 9),
  'gpt-5.2': rates(3.5, 0.35, 28),
  'gpt-5.1': rates(2.5, 0.25, 20),
  'gpt-5': rates(2.5, 0.25, 20),
  'gpt-5.1-codex': rates(2.5, 0.25, 20),
  'gpt-5-codex': rates(2.5, 0.25, 20),
  'gpt-5-mini': rates(0.45, 0.045, 3.6),
  'gpt-4.1': rates(3.5, 0.875, 14),
  'gpt-4.1-mini': rates(0.7, 0.175, 2.8),
  'gpt-4.1-nano': rates(0.2, 0.05, 0.8),
  'gpt-4o': rates(4.25, 2.125, 17),
  'gpt-4o-2024-05-13': rates(8.75, 8.75, 26.25),
  'gpt-4o-mini': rates(0.25, 0.125, 1),
  o3: rates(3.5, 0.875, 14),
  'o4-mini': rates(2, 0.5, 8),
})

const listTiers = (): TierPrices => ({
  priority: fastPrices(),
  fast: fastPrices(),
  // GPT-6.2 Sol costs three times the list until 2027-02-28, and six times from then on.
  ultrafast: multiples(600, 'gpt-6.1-sol gpt-6.2-sol'),
  flex: multiples(50, 'gpt-5.6-sol gpt-6-astra gpt-6-luna gpt-6.1-sol gpt-6.1-terra'),
})

/** List prices of OpenAI's service tiers: fast mode under both of its names, ultrafast mode, and flex. */
export const LIST_TIERS: TierPrices = /* @__PURE__ */ listTiers()
