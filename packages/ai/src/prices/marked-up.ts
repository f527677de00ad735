import { isUnits, MAX_UNITS } from '@sluice/core/internal'
import { assertPrices, invalid, RATES } from './price-rules.ts'
import { definePrices, type ModelPrice, type Prices, type Rates } from './prices.ts'

/** The parts of 1 that a factor is counted in: four decimals. */
const PARTS = 10_000

/**
 * Returns a table for who sells model calls on: each price of `prices`, times a factor. All that a call is reserved,
 * settled, recorded and shown at is then what your customer pays. Each rate is rounded up to a whole micro-dollar per
 * million tokens, and a cost that an answer tells to a whole micro-dollar. Prices that you list on top of it are your own.
 *
 * @param factor From 1 to 100, with at most four decimals: 1.5 adds half of the price.
 * @throws ConfigError When `prices` is not made by `definePrices`, or the factor is out of range.
 * @example
 * const prices = markedUp(LIST_PRICES, 1.5)
 */
export function markedUp(prices: Prices, factor: number): Prices {
  assertPrices('markedUp.prices', prices)
  const parts = Math.round(factor * PARTS)
  if (!isUnits(parts) || parts / PARTS !== factor || factor < 1 || factor > 100) {
    throw invalid('markedUp.factor', 'must be from 1 to 100, with at most four decimals')
  }
  /** Returns a whole number times the factor, rounded up. */
  const times = (units: number): number =>
    Number((BigInt(units) * BigInt(parts) + BigInt(PARTS - 1)) / BigInt(PARTS))
  const ratesTimes = (rates: Rates): Rates => {
    const listed = RATES.filter((name) => rates[name] !== undefined)
    return Object.fromEntries(listed.map((name) => [name, times(rates[name]!)])) as never
  }
  const made = new WeakSet<ModelPrice>()
  const known = new WeakMap<ModelPrice, ModelPrice>()
  const scaled = (price: ModelPrice): ModelPrice => {
    const before = known.get(price)
    if (before) return before
    const { long } = price
    const own = {
      ...price,
      ...ratesTimes(price),
      ...(long && { long: { ...long, ...ratesTimes(long) } }),
    }
    known.set(price, own)
    made.add(own)
    return own
  }
  const { unknownModel } = prices
  const plain = definePrices({})
  return {
    ...prices,
    unknownModel: unknownModel === 'deny' ? unknownModel : scaled(unknownModel),
    get(name) {
      const price = prices.get(name)
      return price && scaled(price)
    },
    models: () => new Map([...prices.models()].map(([name, price]) => [name, scaled(price)])),
    findPrice(model, tier) {
      // By `this`: a table on top of this one has prices of its own.
      const price = plain.findPrice.call(this, model)
      return tier && made.has(price) ? scaled(prices.findPrice(model, tier)) : price
    },
    priceOf(usage, model, fallback) {
      const price = plain.priceOf.call(this, usage, model, fallback)
      const { cost: told } = usage
      return isUnits(told) ? Math.max(price, Math.min(MAX_UNITS, times(told))) : price
    },
  }
}
