import { definePrices, type Prices } from './prices.ts'
import { ANTHROPIC_PRICES } from './anthropic.ts'
import { OPENAI_PRICES } from './openai.ts'
import { pricesOfRows, type Rows } from './price-table.ts'

const CLAUDE = 'https://platform.claude.com/docs/en'

/** Rows that the data of `npm run prices` lacks, or has at a lower price, each with the page that says so. */
const OWN_ROWS: readonly (readonly [asOf: string, source: string, rows: Rows])[] = [
  // Cache reads are said to cost half of this since 2026-10-07; the page that says so was not found.
  [
    '2026-10-06',
    `${CLAUDE}/models/sonnet-5-5/overview`,
    { 'claude-sonnet-5-5': [2, 0.2, 10, 2.5, 4] },
  ],
  [
    '2026-10-07',
    `${CLAUDE}/models/haiku-5-5/overview`,
    { 'claude-haiku-5-5': [[0.1, 0.01, 0.5, 0.125, 0.2], 100_000, [0.5, 0.05, 2.5, 0.625, 1]] },
  ],
  // With the beta of a longer context.
  [
    '2025-09-01',
    'https://docs.anthropic.com/en/docs/about-claude/pricing',
    {
      'claude-sonnet-4 claude-sonnet-4-0': [
        [3, 0.3, 15, 3.75, 6],
        200_000,
        [6, 0.6, 22.5, 7.5, 12],
      ],
    },
  ],
]

/**
 * List prices of OpenAI's and Anthropic's models, each with the day and the page it is from. Those of other vendors
 * are in entries of their own, such as `@sluice/ai/prices/groq`. Prices change: check them before you bill anyone, and
 * list what differs with `definePrices`.
 */
export const LIST_PRICES: Prices = /* @__PURE__ */ definePrices(
  /* @__PURE__ */ Object.assign(
    Object.fromEntries(ANTHROPIC_PRICES.models()),
    ...OWN_ROWS.map((rows) => pricesOfRows(...rows)),
  ),
  { base: OPENAI_PRICES },
)
