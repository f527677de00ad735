// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of OpenAI. The rows are in dollars per million tokens: input, cached input, output, cache write,
 * cache write for longer.
 *
 * https://developers.openai.com/api/docs/pricing
 */
export const OPENAI_PRICES: Prices = /* @__PURE__ */ priceTable(
  {
    '2026-09-23 https://developers.openai.com/api/docs/pricing': {
      'chatgpt-4o-latest': [5, null, 15],
      'codex-mini codex-mini-latest': [1.5, 0.375, 6],
      'computer-use': [3, null, 12],
      'gpt-3.5-0301 gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-instruct gpt-3.5-turbo-instruct-0914':
        [1.5, null, 2],
      'gpt-3.5-turbo gpt-3.5-turbo-0125': [0.5, null, 1.5],
      'gpt-3.5-turbo-1106': [1, null, 2],
      'gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613': [3, null, 4],
      'gpt-4-0125-preview gpt-4-1106-preview gpt-4-1106-vision-preview gpt-4-turbo-0125-preview gpt-4-turbo-preview gpt-4-vision-preview':
        [10, null, 30],
      'gpt-4-0314 gpt-4-0613': [30, null, 60],
      'gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613': [60, null, 120],
      'gpt-4.5-preview': [75, 37.5, 150],
      'gpt-4o-mini-search-preview': [0.15, 0.075, 0.6],
      'gpt-4o-search-preview': [2.5, null, 10],
      'gpt-5-codex gpt-5.1-chat gpt-5.1-codex gpt-5.1-codex-max': [1.25, 0.125, 10],
      'gpt-5.1-codex-mini gpt-5.1-mini': [0.25, 0.025, 2],
      'gpt-5.2-chat gpt-5.2-codex gpt-5.3 gpt-5.3-chat': [1.75, 0.175, 14],
      'gpt-5.5-chat gpt-5.5-codex': [[5, 0.5, 30], 271999],
      'gpt-5.6': [[4, 0.4, 20, 5], 271999],
      'o1-mini o3-mini-high': [1.1, 0.55, 4.4],
      'o1-preview': [15, 7.5, 60],
      'o3-deep-research': [10, 2.5, 40],
      'o4-mini-deep-research': [2, 0.5, 8],
      'o4-mini-high': [1.1, 0.275, 4.4],
      'text-embedding-3-large': [0.13, null, 0],
      'text-embedding-3-small': [0.02, null, 0],
      'text-embedding-ada text-embedding-ada-002 text-embedding-ada-002-v2': [0.1, null, 0],
    },
    '2026-11-20 https://developers.openai.com/api/docs/pricing': {
      'chat-latest': [5, 0.5, 30],
      'gpt-4': [30, null, 60],
      'gpt-4-turbo': [10, null, 30],
      'gpt-4.1 o3': [2, 0.5, 8],
      'gpt-4.1-mini': [0.4, 0.1, 1.6],
      'gpt-4.1-nano': [0.1, 0.025, 0.4],
      'gpt-4o': [2.5, 1.25, 10],
      'gpt-4o-2024-05-13': [5, null, 15],
      'gpt-4o-mini': [0.15, 0.075, 0.6],
      'gpt-5 gpt-5-chat gpt-5.1': [1.25, 0.125, 10],
      'gpt-5-mini': [0.25, 0.025, 2],
      'gpt-5-nano': [0.05, 0.005, 0.4],
      'gpt-5-pro': [15, null, 120],
      'gpt-5.2 gpt-5.3-codex gpt-5.3-codex-spark': [1.75, 0.175, 14],
      'gpt-5.2-pro': [21, null, 168],
      'gpt-5.4': [[2.5, 0.25, 15], 271999],
      'gpt-5.4-mini': [0.75, 0.075, 4.5],
      'gpt-5.4-nano': [0.2, 0.02, 1.25],
      'gpt-5.4-pro gpt-5.5-pro': [[30, null, 180], 271999],
      'gpt-5.5': [[5, 0.5, 30], 271999],
      'gpt-5.6-cyber gpt-daybreak-red': [12.5, 1.25, 75, 15.625],
      'gpt-5.6-luna': [[0.2, 0.02, 1.2, 0.25], 271999],
      'gpt-5.6-sol': [[4, 0.4, 20, 5], 271999],
      'gpt-5.6-terra': [[2, 0.2, 12, 2.5], 271999],
      'gpt-6-astra': [[10, 1, 50, 12.5], 271999],
      'gpt-6-cyber': [20, 2, 100, 25],
      'gpt-6-luna': [[0.1, 0.01, 0.5, 0.125], 272000],
      'gpt-6-sol': [[2, 0.2, 10, 2.5], 272000],
      'gpt-6.1-sol gpt-6.2-sol': [[2, 0.1, 10, 2.5, 5], 271999],
      'gpt-6.1-terra': [[1, 0.05, 5, 1.25, 2.5], 271999],
      'gpt-6.2-astra': [[8, 0.4, 40, 10], 272000],
      'gpt-daybreak-blue': [[4, 0.4, 20, 5], 272000],
      o1: [15, 7.5, 60],
      'o1-pro': [150, null, 600],
      'o3-mini': [1.1, 0.55, 4.4],
      'o3-pro': [20, null, 80],
      'o4-mini': [1.1, 0.275, 4.4],
    },
  },
  {
    '2026-10-23':
      'gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-4 gpt-4-turbo gpt-4o-2024-05-13 gpt-4.1-nano o1 o1-pro o3-mini o4-mini',
    '2026-12-11': 'gpt-5 gpt-5-mini gpt-5-nano gpt-5-pro o3 o3-pro',
    '2027-01-14': 'gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini',
    '2027-04-01': 'gpt-5.1 gpt-5.3-codex gpt-5.4-nano',
  },
)
