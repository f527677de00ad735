import { definePrices, type Prices } from './prices.ts'
import { ANTHROPIC_PRICES } from './anthropic.ts'
import { OPENAI_PRICES } from './openai.ts'

/**
 * The most output tokens that models take as a maximum, or less, the first that fits: by the data of models.dev for OpenAI and
 * of `@ai-sdk/anthropic` 4.0.105 for Anthropic, both read on 2026-11-28. The 8,192 of `gpt-4` are of its input, too.
 */
const MAX_OUTPUTS: readonly (readonly [most: number, models: RegExp])[] = [
  [4_096, /^gpt-(3|4$|4-)|05-13|^claude-3-[a-z]/],
  [8_192, /-chat|^claude-3/],
  [32_000, /4\.1|^claude-opus-4(-[01])?$/],
  [64_000, /^(gpt-[5-9]|claude|o\d)/],
]

/**
 * List prices of OpenAI's and Anthropic's models, each with the day and the page it is from. Those of other vendors
 * are in entries of their own, such as `@sluice/ai/prices/groq`. Prices change: check them before you bill anyone, and
 * list what differs with `definePrices`.
 */
export const LIST_PRICES: Prices = /* @__PURE__ */ definePrices(
  /* @__PURE__ */ Object.fromEntries(
    [...OPENAI_PRICES.models(), ...ANTHROPIC_PRICES.models()].map(([model, price]) => {
      const [maxOutput = 16_384] = MAX_OUTPUTS.find(([, names]) => names.test(model)) ?? []
      return [model, { maxOutput, ...price }]
    }),
  ),
)
