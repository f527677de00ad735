// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of DeepSeek, https://api-docs.deepseek.com/quick_start/pricing */
export const DEEPSEEK_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-09-23 https://api-docs.deepseek.com/quick_start/pricing': {
    'deepseek-chat-v3-0324': [0.27, 0.07, 1.1],
    'deepseek-r1 deepseek-r1-0528 deepseek-reasoner': [0.55, 0.14, 2.19],
    'deepseek-v3.1-terminus': [0.27, 0.13, 0.95],
    'deepseek-v3.2': [0.2288, null, 0.3432],
    'deepseek-v3.2-exp': [0.27, null, 0.41],
    'deepseek-v4-flash': [0.44, 0.014, 1.32],
  },
  '2026-10-27 https://api-docs.deepseek.com/quick_start/pricing': {
    'deepseek-chat': [0.3, 0.07, 1.2],
    'deepseek-v4-flash-vision-exp': [0.44, 0.014, 1.32],
  },
  '2026-11-20 https://api-docs.deepseek.com/quick_start/pricing': {
    'deepseek-flash': [0.3, 0.006, 1.2],
    'deepseek-v4-pro': [1.32, 0.044, 3.96],
  },
})
