import { definePrices, type Prices } from './prices.ts'
import { ANTHROPIC_PRICES } from './anthropic.ts'
import { OPENAI_PRICES } from './openai.ts'

/**
 * List prices of OpenAI's and Anthropic's models, each with the day and the page it is from. Those of other vendors
 * are in entries of their own, such as `@sluice/ai/prices/groq`. Prices change: check them before you bill anyone, and
 * list what differs with `definePrices`.
 */
export const LIST_PRICES: Prices = /* @__PURE__ */ definePrices(
  /* @__PURE__ */ Object.fromEntries(ANTHROPIC_PRICES.models()),
  { base: OPENAI_PRICES },
)
