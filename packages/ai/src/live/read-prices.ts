import type { Limiter } from '@sluice/core'
import { parseDocument, settingsAt } from '@sluice/core/internal/configuration'
import { definePrices, type ModelPrice, type Prices } from '../prices/prices.ts'
import { copyOf } from './change-prices.ts'

/** A live price. */
export interface LivePrice {
  readonly model: string
  readonly price: ModelPrice
  /** True if it is of a feed, false if it was set by hand. */
  readonly feed: boolean
}

/**
 * Reads the live prices in the store, those that apply.
 *
 * @throws ConfigError When the limiter has no `livePrices`.
 * @throws StoreError When the store fails.
 * @example
 * const prices = await readPrices(limiter)
 */
export async function readPrices(limiter: Limiter): Promise<readonly LivePrice[]> {
  const copy = copyOf(limiter)
  const { records, settingsField, report } = copy.document
  const [text] = await records.read([settingsField])
  const entries = parseDocument(text, report)
  return [...copy.pricesIn(entries)].map(([model, price]) => {
    return { model, price, feed: settingsAt(entries, model, undefined)?.['feed'] === true }
  })
}

/**
 * Reads the table that applies now: the live prices over those of the code. It does not change later.
 *
 * @throws ConfigError When the limiter has no `livePrices`.
 * @throws StoreError When the store fails.
 * @example
 * findPrice('gpt-7', await currentPrices(limiter))
 */
export async function currentPrices(limiter: Limiter): Promise<Prices> {
  const live = await readPrices(limiter)
  const models = Object.fromEntries(live.map(({ model, price }) => [model, price]))
  return definePrices(models, { base: copyOf(limiter).terms.base })
}
