export { livePrices } from './live-prices.ts'
export type { LivePrices, LivePricesOptions } from './live-prices.ts'
export { pullPrices, readPriceHistory, setPrices, undoPrices } from './change-prices.ts'
export type {
  ChangedPrice,
  PastPriceChange,
  PriceChangeOptions,
  PriceChanges,
} from './change-prices.ts'
export { currentPrices, readPrices } from './read-prices.ts'
export type { LivePrice } from './read-prices.ts'
