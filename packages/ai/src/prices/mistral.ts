// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of Mistral, https://mistral.ai/pricing/api */
export const MISTRAL_PRICES: Prices = /* @__PURE__ */ priceTable({
  '2026-09-23 https://mistral.ai/pricing/api': {
    'codestral-2501': [0.3, null, 0.9],
    'devstral-small devstral-small-2505 devstral-small-2507 devstral-small-latest labs-devstral-small-2512':
      [0.1, null, 0.3],
    'magistral-medium': [2, null, 5],
    'ministral-3b': [0.04, null, 0.04],
    'ministral-8b ministral-8b-2410 mistral-embed': [0.1, null, 0.1],
    'mistral-7b mistral-tiny open-mistral-7b': [0.25, null, 0.25],
    'mistral-large mistral-large-2407 mistral-large-2411 pixtral-large-2411 pixtral-large-latest': [
      2,
      null,
      6,
    ],
    'mistral-medium': [0.4, 0.04, 2],
    'mistral-medium-2312': [2.7, null, 8.1],
    'mistral-medium-3 mistral-medium-3-5': [1.5, 0.15, 7.5],
    'mistral-nemo pixtral-12b-latest': [0.15, null, 0.15],
    'mistral-saba mistral-saba-latest': [0.2, null, 0.6],
    'mixtral-8x22b-instruct': [0.9, null, 0.9],
    'mixtral-8x7b open-mixtral-8x7b': [0.7, null, 0.7],
    'voxtral-small-24b-2507': [0.1, 0.01, 0.4],
  },
  '2026-11-20 https://mistral.ai/pricing/api': {
    'codestral-2508 codestral-latest': [0.3, 0.03, 0.9],
    'deepseek-v4-1-flash-1017': [0.3, 0.007, 1.2],
    'devstral-2512 devstral-latest devstral-medium-latest mistral-medium-2505 mistral-medium-2508':
      [0.4, 0.04, 2],
    'glm-5-2 zai-glm-5-2 zai-glm-5-3': [1.4, 0.14, 4.4],
    'magistral-medium-latest': [2, 0.2, 5],
    'ministral-14b-2512': [0.2, 0.02, 0.2],
    'ministral-3b-2512 ministral-3b-latest': [0.1, 0.01, 0.1],
    'ministral-8b-2512 ministral-8b-latest open-mistral-nemo pixtral-12b': [0.15, 0.015, 0.15],
    'mistral-large-2512': [0.5, 0.05, 1.5],
    'mistral-large-4 mistral-large-4-0 mistral-large-4-0-8 mistral-large-latest': [0.7, 0.07, 2.1],
    'mistral-medium-2604 mistral-medium-3.5 mistral-medium-latest': [1.5, 0.15, 7.5],
    'mistral-small-2506': [0.1, 0.01, 0.3],
    'mistral-small-2603 mistral-small-latest': [0.15, 0.015, 0.6],
    'voxtral-small-2507 voxtral-small-latest': [0.1, 0.01, 0.4],
    'zai-glm-5-3-flash': [0.15, 0.03, 0.5],
  },
})
