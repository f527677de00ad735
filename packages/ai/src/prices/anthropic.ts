// Written by `npm run prices` from @pydantic/genai-prices 0.1.8 (MIT). Do not edit.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of Anthropic of 2026-09-23. The rows are in dollars per million tokens: input, cached input, output,
 * cache write, cache write for longer.
 *
 * https://www.anthropic.com/pricing#api
 */
export const ANTHROPIC_PRICES: Prices = /* @__PURE__ */ priceTable(
  '2026-09-23',
  'https://www.anthropic.com/pricing#api',
  {
    'claude-3-5-haiku': [0.8, 0.08, 4, 1, 1.6],
    'claude-3-5-sonnet claude-3-sonnet claude-sonnet-3-7 claude-sonnet-4 claude-sonnet-4-0 claude-sonnet-4-6':
      [3, 0.3, 15, 3.75, 6],
    'claude-3-haiku': [0.25, 0.03, 1.25, 0.3, 0.5],
    'claude-3-opus claude-opus-4 claude-opus-4-0 claude-opus-4-1': [15, 1.5, 75, 18.75, 30],
    'claude-fable-5': [10, 1, 50, 12.5, 20],
    'claude-fable-5-1': [10, 0.25, 50, 12.5, 20],
    'claude-haiku-4-5': [1, 0.1, 5, 1.25, 2],
    'claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5': [
      5, 0.5, 25, 6.25, 10,
    ],
    'claude-opus-5-5': [4, 0.2, 20, 5, 8],
    'claude-sonnet-4-5': [[3, 0.3, 15, 3.75, 6], 200000, [6, 0.6, 22.5, 7.5, 12]],
    'claude-sonnet-5': [2, 0.2, 10, 2.5, 4],
  },
)
