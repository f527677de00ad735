// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'
import { googleNames } from './google-names.ts'

/** List prices of Google, https://ai.google.dev/gemini-api/docs/pricing */
export const GOOGLE_PRICES: Prices = {
  .../* @__PURE__ */ priceTable(
    {
      '2026-09-23 https://ai.google.dev/gemini-api/docs/pricing': {
        'claude-3-5-haiku': [0.8, 0.08, 4, 1],
        'claude-3-5-sonnet claude-3-7-sonnet claude-sonnet-4 claude-sonnet-4-0': [3, 0.3, 15, 3.75],
        'claude-3-haiku': [0.25, 0.03, 1.25, 0.3],
        'claude-3-opus claude-opus-4 claude-opus-4-0 claude-opus-4-1': [15, 1.5, 75, 18.75],
        'gemini-2.0-flash gemini-2.0-flash-001 gemini-2.0-flash-exp gemini-2.0-flash-latest gemini-2.0-flash-thinking':
          [0.1, 0.025, 0.4],
        'gemini-2.0-flash-lite gemini-2.0-flash-lite-001': [0.075, null, 0.3],
        'gemini-2.5-flash-latest gemini-2.5-flash-preview-09-2025': [0.3, 0.03, 2.5],
        'gemini-2.5-flash-lite-preview gemini-2.5-flash-lite-preview-09-2025': [0.1, 0.01, 0.4],
        'gemini-2.5-flash-preview gemini-2.5-flash-preview-04-17 gemini-2.5-flash-preview-05-20': [
          0.15,
          null,
          0.6,
        ],
        'gemini-3-pro-preview gemini-3-pro-text-preview': [[2, 0.2, 12], 200000],
        'gemini-3.5-flash-preview': [1.5, 0.15, 9],
        'gemini-embedding-001': [0.15, null, 0],
        'gemma-4-26b-a4b-it-maas': [0.15, 0.015, 0.6],
      },
      '2026-11-10 https://ai.google.dev/gemini-api/docs/deprecations': {
        'gemini-2.5-pro': [[1.5, 0.15, 10], 200000, [2.5, 0.25, 15]],
      },
      '2026-11-20 https://ai.google.dev/gemini-api/docs/pricing': {
        'claude-fable-5': [11, 1.1, 55, 13.75, 22],
        'claude-fable-5-1': [11, 0.275, 55, 13.75, 22],
        'claude-fable-5-2': [8.8, 0.22, 44, 11, 17.6],
        'claude-haiku-4-5': [1.1, 0.11, 5.5, 1.375, 2.2],
        'claude-haiku-5-5': [
          [0.11, 0.011, 0.55, 0.1375, 0.22],
          100000,
          [0.55, 0.055, 2.75, 0.6875, 1.1],
        ],
        'claude-opus-4-5 claude-opus-4-7 claude-opus-4-8 claude-opus-5': [
          5.5, 0.55, 27.5, 6.875, 11,
        ],
        'claude-opus-4-6': [[5.5, 0.55, 27.5, 6.875, 11], 200000, [11, 1.1, 41.25, 13.75, 11]],
        'claude-opus-5-5': [4.4, 0.22, 22, 5.5, 8.8],
        'claude-sonnet-4-5': [[3.3, 0.33, 16.5, 4.125, 6.6], 200000],
        'claude-sonnet-4-6': [3.3, 0.33, 16.5, 4.125, 6.6],
        'claude-sonnet-5': [2.2, 0.22, 11, 2.75, 4.4],
        'claude-sonnet-5-5': [2.2, 0.11, 11, 2.75, 4.4],
        'gemini-2.5-computer-use-preview-10-2025': [1.25, null, 10],
        'gemini-2.5-flash gemini-3.5-flash-lite gemini-flash-lite-latest': [0.3, 0.03, 2.5],
        'gemini-2.5-flash-lite': [0.1, 0.01, 0.4],
        'gemini-3-flash-preview': [0.5, 0.05, 3],
        'gemini-3.1-flash-lite gemini-3.1-flash-lite-preview': [0.25, 0.025, 1.5],
        'gemini-3.1-pro-preview gemini-3.1-pro-preview-customtools gemini-pro-latest': [
          [2, 0.2, 12],
          200000,
        ],
        'gemini-3.5-flash gemini-flash-latest': [1.5, 0.15, 9],
        'gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash': [1.5, 0.15, 7.5],
        'gemini-4-argon gemini-4-carbon': [2, 0.1, 10],
        'gemini-4-hydrogen': [1.5, 0.075, 7.5],
        'gemini-4-neon': [3, 0.15, 15],
        'gemini-robotics-er-2-preview': [1, 0.1, 5],
      },
    },
    {
      '2026-06-01': 'gemini-2.0-flash gemini-2.0-flash-lite',
      '2026-12-01': 'gemini-2.5-pro gemini-2.5-flash',
      '2027-05-07': 'gemini-3.1-flash-lite',
    },
  ),
  spellings: googleNames,
}
