import type { Prices } from '@sluice/ai'
import type { Offer } from './offer.ts'

/**
 * Returns the prices of a provider, which also know a model by the provider's name. They count it under the name that is
 * listed: usage names it so, and so do policies that count by model.
 *
 * @param listed The offers of the provider, by that name.
 */
export function namedPrices(prices: Prices, listed: ReadonlyMap<string, Offer>): Prices {
  const nameBySent = new Map([...listed].map(([name, { sent }]) => [sent, name]))
  return {
    ...prices,
    get(name) {
      const offer = listed.get(name)
      return prices.get(offer ? (prices.nameOf(offer.name) ?? '') : name)
    },
    spellings: (model) =>
      [model, ...prices.spellings(model)].map((name) => nameBySent.get(name) ?? name),
  }
}
