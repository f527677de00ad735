import { definePrices, type ModelPrice, type Prices, type Rates } from './prices.ts'

/** Rows are in dollars per million tokens, as the vendors print them: input, cached input, output. */
type Row = readonly [input: number, cachedInput: number, output: number]

/** Micro-dollars: 0.075 dollars are 75_000, and not 74_999.99. */
const micro = (dollars: number): number => Math.round(dollars * 1_000_000)

const rates = ([input, cachedInput, output]: Row): Rates => ({
  input: micro(input),
  cachedInput: micro(cachedInput),
  output: micro(output),
})

/** Anthropic: a cache write costs 1.25 times the input, one for an hour twice as much as the input. */
const withWrites = (row: Row): Rates => ({
  ...rates(row),
  cacheWrite: micro(row[0] * 1.25),
  longCacheWrite: micro(row[0] * 2),
})

/** OpenAI: above 272,000 tokens of input, twice the price of input and 1.5 times that of output. */
const ABOVE = 272_000
const doubled = ([input, cachedInput, output]: Row): Row => [
  input * 2,
  cachedInput * 2,
  output * 1.5,
]

function listed(
  [source, asOf]: readonly [source: string, asOf: string],
  rows: Readonly<Record<string, Rates | ModelPrice>>,
): Record<string, ModelPrice> {
  const entries = Object.entries(rows).map(([name, row]) => [name, { ...row, asOf, source }])
  return Object.fromEntries(entries) as Record<string, ModelPrice>
}

/** A model of which OpenAI bills cache writes as well, from GPT-5.6 on: at 1.25 times the input. */
const written = (row: Row): Rates => ({ ...rates(row), cacheWrite: micro(row[0] * 1.25) })
const tiered = (price: (row: Row) => Rates, row: Row): ModelPrice => ({
  ...price(row),
  long: { above: ABOVE, ...price(doubled(row)) },
})

/** Sonnet 4 and 4.5 with the beta of a longer context. */
const SONNET_4: ModelPrice = /* @__PURE__ */ (() => ({
  ...withWrites([3, 0.3, 15]),
  long: { above: 200_000, ...withWrites([6, 0.6, 22.5]) },
}))()

const CLAUDE = 'https://platform.claude.com/docs/en'
/** The models that GitHub passes on at the vendor's price. */
const GITHUB = 'https://github.com/github/docs/blob/main/data/tables/copilot/models-and-pricing.yml'
const OPENAI = 'https://developers.openai.com/api/docs'

/**
 * List prices of OpenAI's and Anthropic's models, each with the day and the page it is from. Rows of
 * OpenAI's own price pages were read in copies of those pages, and a day may be that of the copy. Prices
 * change: check them before you bill anyone, and list what differs with `definePrices`. Of a model that
 * is missing here no price was found on a public page.
 */
export const LIST_PRICES: Prices = /* @__PURE__ */ definePrices({
  ...listed([`${CLAUDE}/about-claude/pricing`, '2026-09-23'], {
    'claude-fable-5-1': withWrites([10, 0.25, 50]),
    'claude-fable-5': withWrites([10, 1, 50]),
    'claude-opus-5': withWrites([5, 0.5, 25]),
    'claude-opus-4-8': withWrites([5, 0.5, 25]),
    'claude-opus-4-7': withWrites([5, 0.5, 25]),
    'claude-opus-4-6': withWrites([5, 0.5, 25]),
    'claude-opus-4-5': withWrites([5, 0.5, 25]),
    'claude-opus-4-1': withWrites([15, 1.5, 75]),
    'claude-opus-4-0': withWrites([15, 1.5, 75]),
    'claude-opus-4': withWrites([15, 1.5, 75]),
    'claude-sonnet-4-6': withWrites([3, 0.3, 15]),
    'claude-sonnet-4-5': SONNET_4,
    'claude-haiku-4-5': withWrites([1, 0.1, 5]),
  }),
  ...listed([`${CLAUDE}/models/opus-5-5/overview`, '2026-09-23'], {
    'claude-opus-5-5': withWrites([4, 0.2, 20]),
  }),
  // Cache reads are said to cost half of this since 2026-10-07; the page that says so was not found.
  ...listed([`${CLAUDE}/models/sonnet-5-5/overview`, '2026-10-06'], {
    'claude-sonnet-5-5': withWrites([2, 0.2, 10]),
  }),
  ...listed([`${CLAUDE}/models/sonnet-5/overview`, '2026-09-23'], {
    'claude-sonnet-5': withWrites([2, 0.2, 10]),
  }),
  ...listed([`${CLAUDE}/models/haiku-5-5/overview`, '2026-10-07'], {
    'claude-haiku-5-5': {
      ...withWrites([0.1, 0.01, 0.5]),
      long: { above: 100_000, ...withWrites([0.5, 0.05, 2.5]) },
    },
  }),
  ...listed(['https://docs.anthropic.com/en/docs/about-claude/pricing', '2025-09-01'], {
    'claude-sonnet-4-0': SONNET_4,
    'claude-sonnet-4': SONNET_4,
    'claude-3-7-sonnet': withWrites([3, 0.3, 15]),
    'claude-3-5-sonnet': withWrites([3, 0.3, 15]),
    'claude-3-5-haiku': withWrites([0.8, 0.08, 4]),
    'claude-3-opus': withWrites([15, 1.5, 75]),
    'claude-3-haiku': withWrites([0.25, 0.03, 1.25]),
  }),
  ...listed([`${OPENAI}/models/gpt-5.6-terra`, '2026-10-01'], {
    'gpt-5.6-terra': tiered(written, [2, 0.2, 12]),
  }),
  ...listed([`${OPENAI}/models/gpt-5.6-luna`, '2026-10-01'], {
    'gpt-5.6-luna': tiered(written, [0.2, 0.02, 1.2]),
  }),
  ...listed([`${OPENAI}/models/gpt-5-nano`, '2026-10-01'], {
    'gpt-5-nano': rates([0.05, 0.005, 0.4]),
  }),
  ...listed([`${OPENAI}/models/gpt-4`, '2026-10-01'], { 'gpt-4': rates([30, 30, 60]) }),
  ...listed([`${OPENAI}/pricing`, '2026-08-19'], {
    'gpt-5.6-sol': tiered(written, [5, 0.5, 30]),
    'gpt-5.6': tiered(written, [5, 0.5, 30]),
  }),
  ...listed([GITHUB, '2026-08-19'], {
    'gpt-5.5': tiered(rates, [5, 0.5, 30]),
    'gpt-5.4': tiered(rates, [2.5, 0.25, 15]),
    'gpt-5.4-mini': rates([0.75, 0.075, 4.5]),
    'gpt-5.4-nano': rates([0.2, 0.02, 1.25]),
    'gpt-5.3-codex': rates([1.75, 0.175, 14]),
    'gpt-5.2': rates([1.75, 0.175, 14]),
    'gpt-5-mini': rates([0.25, 0.025, 2]),
    'gpt-4.1': rates([2, 0.5, 8]),
  }),
  ...listed(['https://platform.openai.com/docs/pricing', '2026-03-21'], {
    'gpt-5.1': rates([1.25, 0.125, 10]),
    'gpt-5': rates([1.25, 0.125, 10]),
    'gpt-4.1-mini': rates([0.4, 0.1, 1.6]),
    'gpt-4.1-nano': rates([0.1, 0.025, 0.4]),
    'gpt-4o': rates([2.5, 1.25, 10]),
    'gpt-4o-2024-05-13': rates([5, 5, 15]),
    'gpt-4o-mini': rates([0.15, 0.075, 0.6]),
    o1: rates([15, 7.5, 60]),
    o3: rates([2, 0.5, 8]),
    'o3-mini': rates([1.1, 0.55, 4.4]),
    'o4-mini': rates([1.1, 0.275, 4.4]),
  }),
})
