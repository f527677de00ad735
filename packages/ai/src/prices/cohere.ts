// Written by `npm run prices` from @pydantic/genai-prices 0.1.8 (MIT). Do not edit.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of Cohere of 2026-09-23. The rows are in dollars per million tokens: input, cached input, output,
 * cache write, cache write for longer.
 *
 * https://cohere.com/pricing
 */
export const COHERE_PRICES: Prices = /* @__PURE__ */ priceTable(
  '2026-09-23',
  'https://cohere.com/pricing',
  {
    'c4ai-aya-expanse-32b c4ai-aya-expanse-8b': [0.5, null, 1.5],
    command: [1, null, 2],
    'command-a command-r-plus': [2.5, null, 10],
    'command-light': [0.3, null, 0.6],
    'command-r': [0.15, null, 0.6],
    'command-r7b': [0.0375, null, 0.15],
    'embed-v4.0': [0.12, null, 0],
  },
)
