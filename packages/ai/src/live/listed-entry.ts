/* The entries of the record: prices by model, as they are stored beside the limits. */
import { invalidOption } from '@sluice/core/internal'
import { isObject } from '../json.ts'
import { assertPrice, RATES } from '../prices/price-rules.ts'
import type { ModelPrice, Prices, Rates } from '../prices/prices.ts'

/** An entry of the record. Its fields are named as those of the settings of limits, whose document it shares. */
export interface PriceEntry {
  /** The model. */
  readonly policy: string
  readonly settings: ModelPrice & {
    /** True if a feed has it: the next pull replaces it. @default it was set by hand */
    readonly feed?: boolean
  }
}

/** The terms on which a price is taken from the record. */
export interface EntryTerms {
  readonly base: Prices
  readonly allowLower: boolean
}

/** A name that is in lower case, as tables list it. */
const NAME = /^[a-z0-9@][a-z0-9._:@/+~-]{0,127}$/
/** The highest price of a million tokens, in micro-dollars: 10,000 dollars. */
const MAX_RATE = 10_000_000_000

/**
 * Returns the price of an entry.
 *
 * @throws ConfigError When it is malformed, or lower than that of `base`, unless that is allowed.
 */
export function priceIn(name: unknown, settings: unknown, terms: EntryTerms): ModelPrice {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw invalidOption('livePrices', 'must list models by names in lower case')
  }
  const option = `livePrices.${name}`
  if (!isObject(settings)) throw invalidOption(option, 'must be a price')
  const { feed: _, ...price } = settings
  assertPrice(option, price)
  const valid = price as unknown as ModelPrice
  if (ratesIn(valid).some((rate) => rate > MAX_RATE)) {
    throw invalidOption(option, `must be at most ${MAX_RATE} micro-dollars per million tokens`)
  }
  if (!terms.allowLower && isLower(valid, listedIn(terms.base, name))) {
    const message = 'is lower than in the code: set allowLower of livePrices to allow that'
    throw invalidOption(option, message)
  }
  return Object.freeze(valid)
}

/** Returns the price that a table lists for a model. */
export const listedIn = (prices: Prices, model: string): ModelPrice | undefined =>
  prices.get(prices.nameOf(model) ?? '')

/** Returns true if any kind of token costs less than before, in a usual or a long request. */
export function isLower(price: ModelPrice, before: ModelPrice | undefined): boolean {
  if (!before) return false
  const { long } = before
  const applying = long && price.long && price.long.above <= long.above ? price.long : price
  return (
    isCheaper(price, before) ||
    (price.long !== undefined && isCheaper(price.long, before)) ||
    (long !== undefined && isCheaper(applying, long))
  )
}

const isCheaper = (rates: Rates, before: Rates): boolean => {
  const [own, others] = [fullRates(rates), fullRates(before)]
  return RATES.some((name) => own[name] < others[name])
}

/** Returns all rates, also those that follow from others. */
export function fullRates({
  input,
  cachedInput = input,
  cacheWrite = input,
  longCacheWrite = cacheWrite,
  output,
}: Rates): Required<Rates> {
  return { input, cachedInput, cacheWrite, longCacheWrite, output }
}

const ratesIn = ({ long, ...usual }: ModelPrice): number[] =>
  [usual, long ?? usual].flatMap((rates) => Object.values(fullRates(rates)))
