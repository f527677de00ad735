import type { Prices } from '@sluice/ai'
import type { Offer } from './offer.ts'

/**
 * Returns the prices of a provider, which count a model under the name that is listed: usage names it so, and policies
 * that count by model keep two providers apart.
 *
 * @param listed The offers of the provider, by that name.
 */
export function namedPrices(prices: Prices, listed: ReadonlyMap<string, Offer>): Prices {
  const listedBy = new Map([...listed].map(([id, { name }]) => [name, id]))
  return {
    ...prices,
    get(name) {
      const offer = listed.get(name)
      return prices.get(offer ? (prices.nameOf(offer.name) ?? '') : name)
    },
    spellings: (model) =>
      [model, ...prices.spellings(model)].map((name) => listedBy.get(name) ?? name),
  }
}
