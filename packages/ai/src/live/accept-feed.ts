import type { ModelPrice } from '../prices/prices.ts'
import { isLower, listedIn, priceIn, ratesIn, type EntryTerms } from './listed-entry.ts'

/** A price of a feed may be so many times that of the code: more is taken for a mistake. */
const MOST_TIMES = 10
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
    if (before && !terms.allowLower && isLower(price, before)) continue
    if (before && !isLower(before, price) && !isLower(price, before)) continue
    priceIn(name, price, { ...terms, allowLower: true })
    if (before && Math.max(...ratesIn(price)) > MOST_TIMES * Math.max(...ratesIn(before))) {
      throw new Error(
        `has a price of "${name}" that is more than ${MOST_TIMES} times that of the code`,
      )
    }
    accepted.set(name, price)
  }
  if (accepted.size <= MAX_PRICES) return accepted
  throw new Error(`has more than ${MAX_PRICES} prices that the code lacks`)
}
