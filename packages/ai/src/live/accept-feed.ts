import { RATES } from '../prices/price-rules.ts'
import type { ModelPrice, Prices, Rates } from '../prices/prices.ts'
import { fullRates, isLower, listedIn, priceIn, type EntryTerms } from './listed-entry.ts'

/** A price of a feed may be so many times that of the code: more is taken for a mistake. */
const MOST_TIMES = 10
/** A model that the code lacks may cost so many times less than `unknownModel`: less is taken for a mistake. */
const LEAST_PART = 1_000
/** The most prices of a record, which each isolate loads. */
const MAX_PRICES = 2_000
const PLAIN = /^[a-z0-9@][a-z0-9._:@/+~-]{0,127}$/

/**
 * Returns the prices of a feed that the code lacks, or has at another price that is allowed.
 *
 * @throws Error When one is out of bounds: then none is taken.
 */
export function acceptedIn(
  prices: ReadonlyMap<string, ModelPrice>,
  terms: EntryTerms,
): Map<string, ModelPrice> {
  const accepted = new Map<string, ModelPrice>()
  for (const [name, price] of prices) {
    if (!PLAIN.test(name)) continue
    const before = listedIn(terms.base, name)
    const isTooLow = before ? isLower(price, before) : isNearlyFree(price, terms.base)
    if (isTooLow && !terms.allowLower) continue
    if (before && !isLower(before, price) && !isLower(price, before)) continue
    priceIn(name, price, { ...terms, allowLower: true })
    const { long = price } = price
    if (before && (isFarAbove(price, before) || isFarAbove(long, before.long ?? before))) {
      throw new Error(
        `has a price of "${name}" that is more than ${MOST_TIMES} times that of the code`,
      )
    }
    accepted.set(name, price)
  }
  if (accepted.size <= MAX_PRICES) return accepted
  throw new Error(`has more than ${MAX_PRICES} prices that the code lacks`)
}

/** Returns true if any kind of token costs far more than before. Output that was free is compared with the highest rate. */
function isFarAbove(rates: Rates, before: Rates): boolean {
  const known = fullRates(before)
  const highest = Math.max(...Object.values(known))
  return RATES.some((kind) => (rates[kind] ?? 0) > MOST_TIMES * (known[kind] || highest))
}

function isNearlyFree({ input, output }: Rates, { unknownModel }: Prices): boolean {
  if (unknownModel === 'deny') return false
  return input * LEAST_PART < unknownModel.input && output * LEAST_PART < unknownModel.output
}
