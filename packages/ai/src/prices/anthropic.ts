// Written by `npm run prices`. Do not edit: docs/prices.md names the sources.
import type { Prices } from './prices.ts'
import { priceTable } from './price-table.ts'

/** List prices of Anthropic, https://www.anthropic.com/pricing#api */
export const ANTHROPIC_PRICES: Prices = /* @__PURE__ */ priceTable(
  {
    '2025-09-01 https://platform.claude.com/docs/en/about-claude/pricing': {
      'claude-sonnet-4 claude-sonnet-4-0': [[3, 0.3, 15, 3.75, 6], 200000],
    },
    '2026-09-23 https://www.anthropic.com/pricing#api': {
      'claude-3-5-haiku': [0.8, 0.08, 4, 1, 1.6],
      'claude-3-5-sonnet claude-3-sonnet claude-sonnet-3-7': [3, 0.3, 15, 3.75, 6],
      'claude-3-haiku': [0.25, 0.03, 1.25, 0.3, 0.5],
      'claude-3-opus claude-opus-4 claude-opus-4-0 claude-opus-4-1': [15, 1.5, 75, 18.75, 30],
    },
    '2026-11-20 https://platform.claude.com/docs/en/about-claude/pricing': {
      'claude-fable-5-2': [8, 0.2, 40, 10, 16],
      'claude-sonnet-5-5': [2, 0.1, 10, 2.5, 4],
    },
    '2026-11-20 https://platform.claude.com/docs/en/models/haiku-5-5/overview': {
      'claude-haiku-5-5': [[0.1, 0.01, 0.5, 0.125, 0.2], 100000, [0.5, 0.05, 2.5, 0.625, 1]],
    },
    '2026-11-20 https://www.anthropic.com/pricing#api': {
      'claude-fable-5': [10, 1, 50, 12.5, 20],
      'claude-fable-5-1': [10, 0.25, 50, 12.5, 20],
      'claude-haiku-4-5': [1, 0.1, 5, 1.25, 2],
      'claude-opus-4-5 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5': [
        5, 0.5, 25, 6.25, 10,
      ],
      'claude-opus-5-5': [4, 0.2, 20, 5, 8],
      'claude-sonnet-4-5': [[3, 0.3, 15, 3.75, 6], 200000],
      'claude-sonnet-4-6': [3, 0.3, 15, 3.75, 6],
      'claude-sonnet-5': [2, 0.2, 10, 2.5, 4],
    },
  },
  {
    '2026-02-19': 'claude-3-5-haiku claude-sonnet-3-7',
    '2026-06-15': 'claude-sonnet-4 claude-sonnet-4-0 claude-opus-4 claude-opus-4-0',
    '2026-08-05': 'claude-opus-4-1',
    '2026-11-30': 'claude-sonnet-4-5',
  },
)
