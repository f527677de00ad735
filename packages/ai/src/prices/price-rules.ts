/* The rules of prices. */
import type { ConfigError } from '@sluice/core'
import {
  assertOptionRules,
  assertText,
  hasMethod,
  invalidOption,
  isUnits,
  MUST_BE_UNITS,
  type OptionRule,
} from '@sluice/core/internal'

/** The kinds of tokens that have a price. */
export const RATES = ['input', 'cachedInput', 'cacheWrite', 'longCacheWrite', 'output'] as const
/** The least price, a tenth of a cent: less is a price in dollars. */
const LEAST = 1_000

/** Throws a `ConfigError` unless `value` is a table of prices. */
export const assertPrices: OptionRule = /* @__PURE__ */ hasMethod('priceOf', 'made by definePrices')

const assertUnits: OptionRule = (option, value) => {
  if (!isUnits(value)) throw invalid(option)
}

const assertRate: OptionRule = (option, rate) => {
  assertUnits(option, rate)
  if (rate && Number(rate) < LEAST) {
    const message = `is in micro-dollars per million tokens, 0 or from ${LEAST}; $3 is 3_000_000`
    throw invalid(option, message)
  }
}

const RATE_RULES = /* @__PURE__ */ Object.fromEntries(RATES.map((name) => [name, assertRate]))

/** A rule that allows prices with the parts that these rules allow. */
const priceRule =
  (rules: Readonly<Record<string, OptionRule>>): OptionRule =>
  (option, price) =>
    assertOptionRules(option, price, { ...RATE_RULES, ...rules }, 'input', 'output', 'above')

/** Throws a `ConfigError` unless `price` is the price of a model. */
export const assertPrice: OptionRule = /* @__PURE__ */ priceRule({
  long: /* @__PURE__ */ priceRule({ above: assertUnits }),
  source: assertText,
  asOf: assertText,
  endsOn: assertText,
  maxOutput: assertUnits,
})

/** Returns the error of an option, which must be a number of units unless the message says otherwise. */
export const invalid = (option: string, message: string = MUST_BE_UNITS): ConfigError =>
  invalidOption(option, message)
