// Written by `npm run prices` from @pydantic/genai-prices 0.1.8 (MIT). Do not edit.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of Moonshot of 2026-09-23. The rows are in dollars per million tokens: input, cached input, output,
 * cache write, cache write for longer.
 *
 * https://platform.kimi.ai/docs/models.md
 */
export const MOONSHOT_PRICES: Prices = /* @__PURE__ */ priceTable(
  '2026-09-23',
  'https://platform.kimi.ai/docs/models.md',
  {
    'kimi-k2': [0.57, null, 2.3],
    'kimi-k2-0711-preview kimi-k2-0905-preview kimi-k2-thinking': [0.6, 0.15, 2.5],
    'kimi-k2-thinking-turbo kimi-k2-turbo kimi-k2-turbo-preview': [1.15, 0.15, 8],
    'kimi-k2.5': [0.6, 0.1, 3],
    'kimi-k2.6': [0.95, 0.16, 4],
    'kimi-k2.7-code': [0.95, 0.19, 4],
    'kimi-k2.7-code-highspeed': [1.9, 0.38, 8],
    'kimi-k3': [3, 0.3, 15],
    'moonshot-v1-128k': [2, null, 5],
    'moonshot-v1-32k': [1, null, 3],
    'moonshot-v1-8k': [0.2, null, 2],
  },
)
