export { livePrices, type LivePrices, type LivePricesOptions } from './live-prices.ts'
export { pullPrices, readPriceHistory, setPrices, undoPrices } from './change-prices.ts'
export type {
  ChangedPrice,
  PastPriceChange,
  PriceChangeOptions,
  PriceChanges,
} from './change-prices.ts'
export { currentPrices, readPrices, type LivePrice } from './read-prices.ts'
