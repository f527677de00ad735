// Written by `npm run prices` from @pydantic/genai-prices 0.1.8 (MIT). Do not edit.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/**
 * List prices of Google of 2026-09-23. The rows are in dollars per million tokens: input, cached input, output,
 * cache write, cache write for longer.
 *
 * https://ai.google.dev/gemini-api/docs/pricing
 */
export const GOOGLE_PRICES: Prices = /* @__PURE__ */ priceTable(
  '2026-09-23',
  'https://ai.google.dev/gemini-api/docs/pricing',
  {
    'claude-3-5-haiku': [0.8, 0.08, 4, 1],
    'claude-3-5-sonnet claude-3-7-sonnet claude-sonnet-4 claude-sonnet-4-6': [3, 0.3, 15, 3.75],
    'claude-3-haiku': [0.25, 0.03, 1.25, 0.3],
    'claude-3-opus claude-opus-4': [15, 1.5, 75, 18.75],
    'claude-fable-5': [10, 1, 50, 12.5],
    'claude-fable-5-1': [10, 0.25, 50, 12.5],
    'claude-opus-4-6': [[5, 0.5, 25, 6.25], 200000, [10, 1, 37.5, 12.5]],
    'claude-opus-4-7 claude-opus-4-8 claude-opus-5': [5, 0.5, 25, 6.25],
    'claude-opus-5-5': [4, 0.2, 20, 5],
    'claude-sonnet-4-5': [[3, 0.3, 15, 3.75], 200000, [6, 0.6, 22.5, 7.5]],
    'gemini-1.0-pro gemini-pro': [0.125, null, 0.375],
    'gemini-1.5-flash gemini-flash-1.5': [[0.075, 0.01875, 0.3], 128000, [0.15, 0.0375, 0.6]],
    'gemini-1.5-pro': [[1.25, null, 5], 128000, [2.5, null, 10]],
    'gemini-2.0-flash-lite': [0.075, null, 0.3],
    'gemini-2.5-flash-preview gemini-2.5-flash-preview-05-20:thinking gemini-2.5-flash-preview:thinking':
      [0.15, null, 0.6],
    'gemini-2.5-pro': [[1.25, 0.125, 10], 200000, [2.5, 0.25, 15]],
    'gemini-3-pro-preview gemini-3-pro-text-preview gemini-3.1-pro-preview': [
      [2, 0.2, 12],
      200000,
      [4, 0.4, 18],
    ],
    'gemini-3.5-flash gemini-3.5-flash-preview': [1.5, 0.15, 9],
    'gemini-3.5-flash-lite': [0.3, 0.03, 2.5],
    'gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash': [1.5, 0.15, 7.5],
    'gemini-embedding-001': [0.15, null, 0],
    'gemini-flash-1.5-8b': [[0.0375, 0.01, 0.15], 128000, [0.075, 0.02, 0.3]],
    'gemini-pro-1.5': [[1.25, 0.3125, 5], 128000, [2.5, 0.625, 10]],
    'gemma-4-26b-a4b-it-maas': [0.15, 0.015, 0.6],
  },
)
