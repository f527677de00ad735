// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of xAI, https://docs.x.ai/docs/models */
export const XAI_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-09-23 https://docs.x.ai/docs/models': {
    'grok-2 grok-2-1212 grok-2-latest grok-2-vision grok-2-vision-1212 grok-2-vision-latest': [
      2,
      null,
      10,
    ],
    'grok-3 grok-3-beta grok-3-latest grok-4 grok-4-0709 grok-4-latest': [3, 0.75, 15],
    'grok-3-fast grok-3-fast-beta grok-3-fast-latest': [5, 1.25, 25],
    'grok-3-mini grok-3-mini-beta grok-3-mini-latest': [0.3, 0.075, 0.5],
    'grok-3-mini-fast grok-3-mini-fast-beta grok-3-mini-fast-latest': [0.6, 0.15, 4],
    'grok-4-1-fast grok-4-1-fast-non-reasoning grok-4-1-fast-non-reasoning-latest grok-4-1-fast-reasoning grok-4-1-fast-reasoning-latest grok-4-fast grok-4-fast-non-reasoning grok-4-fast-non-reasoning-latest grok-4-fast-reasoning grok-4-fast-reasoning-latest':
      [0.2, 0.05, 0.5],
    'grok-4.20 grok-4.3-latest x-ai/grok-4.3': [[1.25, 0.2, 2.5], 199999, [2.5, 0.4, 5]],
    'grok-4.20-multi-agent': [2, 0.2, 6],
    'grok-4.5-latest x-ai/grok-4.5': [[2, 0.3, 6], 199999, [4, 0.6, 12]],
    'grok-4.6-latest x-ai/grok-4.6': [[2, 0.5, 6], 199999, [4, 1, 12]],
    'grok-build-0.1': [[1, 0.2, 2], 199999, [2, 0.4, 4]],
    'grok-code-fast grok-code-fast-1 grok-code-fast-1-0825': [0.2, 0.02, 1.5],
  },
  '2026-11-20 https://docs.x.ai/docs/models': {
    'grok-4.20-0309 grok-4.20-0309-reasoning grok-4.20-reasoning grok-4.20-reasoning-latest grok-4.3':
      [[1.25, 0.2, 2.5], 199999, [2.5, 0.4, 5]],
    'grok-4.5': [[2, 0.3, 6], 199999, [4, 0.6, 12]],
    'grok-4.6 grok-4.7 grok-4.7-latest grok-latest': [[2, 0.5, 6], 199999, [4, 1, 12]],
  },
})
