// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of Moonshot, https://platform.kimi.ai/docs/models.md */
export const MOONSHOT_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-09-23 https://platform.kimi.ai/docs/models.md': {
    'kimi-k2': [0.57, null, 2.3],
    'kimi-k2-0711-preview kimi-k2-0905-preview kimi-k2-thinking': [0.6, 0.15, 2.5],
    'kimi-k2-thinking-turbo kimi-k2-turbo kimi-k2-turbo-preview': [1.15, 0.15, 8],
    'kimi-k2.5': [0.6, 0.1, 3],
    'moonshot-v1-128k moonshot-v1-128k-vision-preview': [2, null, 5],
    'moonshot-v1-32k moonshot-v1-32k-vision-preview': [1, null, 3],
    'moonshot-v1-8k moonshot-v1-8k-vision-preview': [0.2, null, 2],
  },
  '2026-11-20 https://platform.kimi.ai/docs/models.md': {
    'kimi-k2.6': [0.95, 0.16, 4],
    'kimi-k2.7-code': [0.95, 0.19, 4],
    'kimi-k2.7-code-highspeed': [1.9, 0.38, 8],
    'kimi-k3': [3, 0.3, 15],
    'kimi-k3.1-pro': [2, 0.2, 10],
    'kimi-k3.1-pro-highspeed': [4, 0.2, 20],
  },
})
