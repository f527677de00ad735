export { livePrices } from './live-prices.ts'
export type { LivePrices, LivePricesOptions } from './live-prices.ts'
export { pullPrices, readPriceHistory, readPrices, setPrices, undoPrices } from './change-prices.ts'
export type {
  ChangedPrice,
  LivePrice,
  PastPriceChange,
  PriceChangeOptions,
  PriceChanges,
} from './change-prices.ts'
