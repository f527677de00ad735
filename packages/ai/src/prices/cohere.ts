// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of Cohere, https://cohere.com/pricing */
export const COHERE_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-05-20 https://cohere.com/pricing': {
    'command-a-plus-05-2026 command-a-reasoning-08-2025 command-a-translate-08-2025 command-a-vision-07-2025':
      [2.5, null, 10],
    'command-r7b-arabic-02-2025': [0.0375, null, 0.15],
  },
  '2026-09-23 https://cohere.com/pricing': {
    'aya-expanse-32b aya-expanse-8b c4ai-aya-expanse-32b c4ai-aya-expanse-8b': [0.5, null, 1.5],
    command: [1, null, 2],
    'command-a command-a-03-2025 command-r-plus command-r-plus-08-2024': [2.5, null, 10],
    'command-light': [0.3, null, 0.6],
    'command-r command-r-08-2024': [0.15, null, 0.6],
    'command-r7b command-r7b-12-2024': [0.0375, null, 0.15],
    'embed-v4.0': [0.12, null, 0],
  },
})
