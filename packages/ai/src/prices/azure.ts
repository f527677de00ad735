import { spellingsOf } from '../model-name.ts'
import { OPENAI_PRICES } from './openai.ts'
import { definePrices, type Prices } from './prices.ts'
import { scaledPrice } from './scaled-price.ts'

/** The most that Azure adds to OpenAI's prices, in percent: for a data zone or a region. */
const SURCHARGE = 20

/**
 * List prices of OpenAI's models on Azure: OpenAI's, and 20 % more, the most that a deployment in a data zone or a region
 * costs. A deployment has the price of the model that it is named after, also as Azure spells it (`gpt-35-turbo`). If all of
 * yours are global, `OPENAI_PRICES` are what you pay.
 *
 * https://azure.microsoft.com/en-us/pricing/details/azure-openai/ and, for the surcharge, the retail prices that
 * https://pypi.org/project/azure-genai-prices/ reads, as of 2026-08
 */
export const AZURE_PRICES: Prices = {
  .../* @__PURE__ */ definePrices(
    /* @__PURE__ */ Object.fromEntries(
      [...OPENAI_PRICES.models()].map(([name, price]) => [
        name,
        scaledPrice(price, 100 + SURCHARGE),
      ]),
    ),
  ),
  spellings: azureNames,
}

/** Returns the names that a deployment may have: Azure writes a version with a dash, or not at all. */
function azureNames(model: string): string[] {
  const name = model.toLowerCase()
  const dotted = name.replace(/^gpt-(?:(3)(?=5)|(\d)-(?=\d(?:-|$)))/, 'gpt-$1$2.')
  return [name, ...spellingsOf(dotted)]
}
