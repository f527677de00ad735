import { spellingsOf } from '../model-name.ts'
import { assertPrices } from './price-rules.ts'
import { definePrices, type ModelPrice, type Prices } from './prices.ts'

/**
 * Joins tables of prices. Each finds a model by its own spellings; if several list one name, the first of them applies.
 *
 * @throws ConfigError When one is not made by `definePrices`.
 * @example
 * const prices = joinPrices(GROQ_PRICES, LIST_PRICES)
 */
export function joinPrices(...tables: readonly Prices[]): Prices {
  for (const table of tables) assertPrices('joinPrices', table)
  const priced = tables.find(({ unknownModel }) => unknownModel !== 'deny')
  return {
    ...definePrices({}, priced && { unknownModel: priced.unknownModel }),
    get(name) {
      for (const table of tables) {
        const price = table.get(name)
        if (price) return price
      }
      return undefined
    },
    spellings(model) {
      const names = tables.map((table) => table.nameOf(model) ?? '')
      // The longest name is the most exact.
      return [...names, ...spellingsOf(model)].toSorted((a, b) => b.length - a.length)
    },
    live: tables.find(({ live }) => live)?.live,
    models() {
      const all = new Map<string, ModelPrice>()
      for (const table of tables.toReversed()) {
        for (const [name, price] of table.models()) all.set(name, price)
      }
      return all
    },
  }
}
