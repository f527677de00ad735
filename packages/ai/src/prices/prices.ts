import { InputError, type Extension } from '@sluice/core'
import {
  MAX_UNITS,
  MUST_BE_UNITS,
  assertOptionRules,
  isUnits,
  type OptionRules,
} from '@sluice/core/internal'
import { isObject } from '../json.ts'
import { spellingsOf } from '../model-name.ts'
import type { Usage } from '../usage.ts'
import { assertPrice, assertPrices, invalid, RATES } from './price-rules.ts'

/** Prices in micro-dollars per million tokens: 2.50 dollars are 2_500_000. Whole numbers. */
export interface Rates {
  readonly input: number
  /** Of input that was read from a cache. @default the price of input */
  readonly cachedInput?: number
  /** Of input that was written to a cache. @default the price of input */
  readonly cacheWrite?: number
  /** Of input that was written to a cache for longer. @default the price of `cacheWrite` */
  readonly longCacheWrite?: number
  readonly output: number
}

/** The price of a model. */
export interface ModelPrice extends Rates {
  /** The prices of the whole request when its input is longer than `above` tokens. */
  readonly long?: Rates & { readonly above: number }
  /** The most output tokens of one answer that the model takes as a maximum. @default unknown */
  readonly maxOutput?: number
  /** The day on which the source said so, such as `2026-10-24`. */
  readonly asOf?: string
  /** The source of the price, a URL. */
  readonly source?: string
  /** The day on which the vendor shuts the model down, such as `2027-01-14`. `sluice doctor` and the problem `model_ends` warn of it. */
  readonly endsOn?: string
}

/** The part of a table that changes while the app runs, created by `livePrices`. */
export interface LiveTable {
  /** The extension, for a limiter that a door creates. */
  readonly extension: Extension
  /** Throws a `ConfigError` unless the limiter has these prices in its `extensions`. */
  assertIn(door: string, limiter: object): void
  /** Prepares a call by one version of the prices, and adds it as `pricedBy`. A model without a price waits for a load. */
  prepare<Call extends PricedCall>(prepare: () => Call | Promise<Call>): Promise<Call>
  /** Reads the prices, if they are known to have changed. */
  refresh(): Promise<void>
  /** Returns the higher result of `price`, by the version `pricedBy` and by that of now. */
  highest(pricedBy: unknown, price: () => number): number
}

/** The parts of a call that depend on a version of the prices. */
export interface PricedCall {
  readonly countedAs: string
  /** The version of live prices that it was estimated by. */
  readonly pricedBy?: unknown
}

/** A table of prices, made by `definePrices`. Its prices may change: ask it at each call. */
export interface Prices {
  /** The price of a model that is not listed; `deny` throws. */
  readonly unknownModel: ModelPrice | 'deny'
  /** Returns the price that is listed under this very name. */
  readonly get: (name: string) => ModelPrice | undefined
  /** Returns the names that a model may be listed under, the most exact first. */
  readonly spellings: (model: string) => readonly string[]
  /** Returns the name that a model is listed under: one for all its spellings. */
  nameOf(model: string | undefined): string | undefined
  /** Does what `findPrice` does, with this table. Limits that count no dollars load no code of prices so. */
  findPrice(model: string | undefined, tier?: string): ModelPrice
  /**
   * Does what `priceOf` does, with this table.
   *
   * @param fallback The model whose price those have that are not listed. @default none: `unknownModel` decides
   */
  priceOf(usage: PricedUsage, model: string | undefined, fallback?: string): number
  /** Returns true if answers in this service tier have a price of their own, or that of the list. */
  hasTier(tier: string, model: string | undefined): boolean
  /** The part that changes while the app runs. */
  readonly live?: LiveTable | undefined
  /** Returns all that is listed now, by name. */
  models(): ReadonlyMap<string, ModelPrice>
}

/** Options of `definePrices`. */
export interface DefinePricesOptions {
  /** A table to extend, also where it changes later; what is listed anew replaces what it has. @default none */
  readonly base?: Prices
  /**
   * The price of models that are not listed, or `'deny'` to throw `unknown_model` then.
   *
   * @default that of `base`, else 'deny'
   */
  readonly unknownModel?: ModelPrice | 'deny'
}

/** A usage, or an estimate of one. */
export type PricedUsage = Pick<Usage, 'input' | 'output'> &
  Partial<
    Pick<Usage, 'cachedInput' | 'cacheWrite' | 'longCacheWrite' | 'otherModels' | 'tier' | 'cost'>
  >

/** The tier that prices are for, as OpenAI, Anthropic and Groq name it. */
const STANDARD_TIER = /^(default|standard|on_demand)/

/**
 * A table of prices by model, in micro-dollars per million tokens. A name covers its dated snapshots and
 * `openai/` or `anthropic/` before it; a snapshot with another price is listed by its full name.
 *
 * @throws ConfigError When a price is missing or no whole number; the error names the place.
 * @example
 * const prices = definePrices(
 *   { 'my-model': { input: 300_000, output: 1_200_000 } },
 *   { base: LIST_PRICES, unknownModel: { input: 15_000_000, output: 75_000_000 } },
 * )
 */
export function definePrices(
  models: Readonly<Record<string, ModelPrice>>,
  options: DefinePricesOptions = {},
): Prices {
  assertOptionRules('definePrices.options', options, TABLE_RULES)
  if (!isObject(models) || models instanceof Map) {
    throw invalid('definePrices', 'must be prices by model')
  }
  const { base, unknownModel = base?.unknownModel ?? 'deny' } = options
  const table = new Map<string, ModelPrice>()
  for (const [model, price] of Object.entries(models)) {
    const name = model.toLowerCase()
    if (table.has(name)) {
      throw invalid(`definePrices.${model}`, 'is listed twice')
    }
    assertPrice(`definePrices.${model}`, price)
    table.set(name, frozen(price))
  }
  return {
    ...METHODS,
    spellings: spellingsOf,
    // Its spellings, tiers and live part stay in force.
    ...base,
    unknownModel: frozen(unknownModel),
    get: (name) => table.get(name) ?? base?.get(name),
    models: () => new Map([...(base?.models() ?? []), ...table]),
  }
}

/**
 * The price of a usage, in whole micro-dollars, rounded up; at most 10^14. Other models (`usage.otherModels`) have
 * prices of their own, and so has a service tier (`usage.tier`) of a table with tiers. Discounts and surcharges beside the
 * list are not in it: batches, regions, tools that cost extra.
 *
 * @param model The model's name, as asked for or as answered.
 * @throws InputError `unknown_model` when it is not listed and the table names no price for such.
 * @throws InputError `invalid_cost` when a number of tokens is no whole number from 0 to 10^14.
 * @throws ConfigError When `prices` is not made by `definePrices`.
 * @example
 * priceOf({ input: 1_000, output: 200 }, 'gpt-4o', LIST_PRICES) // 4_500: 0.0045 dollars
 */
export function priceOf(usage: PricedUsage, model: string | undefined, prices: Prices): number {
  assertPrices('prices', prices)
  return prices.priceOf(usage, model)
}

/**
 * The price of a model.
 *
 * @throws InputError `unknown_model` when it is not listed and the table names no price for such.
 * @throws ConfigError When `prices` is not made by `definePrices`.
 * @example
 * findPrice('gpt-4o-2024-08-06', LIST_PRICES).output // 10_000_000: 10 dollars a million tokens
 */
export function findPrice(model: string | undefined, prices: Prices): ModelPrice {
  assertPrices('prices', prices)
  return prices.findPrice(model)
}

const TABLE_RULES: OptionRules<DefinePricesOptions> = {
  base: assertPrices,
  unknownModel(option, price) {
    if (price === 'deny') return
    if (!isObject(price)) throw invalid(option, 'must be a price or "deny"')
    assertPrice(option, price)
  },
}

/** The methods of every table. By `this`, so that a copy of a table with another part has the prices of the copy. */
const METHODS: Pick<Prices, 'nameOf' | 'findPrice' | 'priceOf' | 'hasTier'> & ThisType<Prices> = {
  nameOf(model) {
    if (typeof model !== 'string') return undefined
    return this.spellings(model).find((name) => this.get(name))
  },
  findPrice(model) {
    const price = this.get(this.nameOf(model) ?? '') ?? this.unknownModel
    if (price !== 'deny') return price
    throw new InputError('unknown_model', 'model', 'has no price: list it, or set unknownModel')
  },
  priceOf(usage, model, fallback) {
    const price = this.findPrice(this.nameOf(model) ? model : (fallback ?? model), usage.tier)
    const { cachedInput = 0, cacheWrite = 0, longCacheWrite = 0, otherModels = [] } = usage
    const own = { ...usage, cachedInput, cacheWrite, longCacheWrite }
    for (const name of RATES) {
      if (!isUnits(own[name])) throw new InputError('invalid_cost', `usage.${name}`, MUST_BE_UNITS)
    }
    let others = 0
    for (const other of otherModels) {
      others += this.priceOf(other, other.model, fallback)
      for (const name of RATES) own[name] = Math.max(0, own[name] - other[name])
    }
    const rates = price.long && own.input > price.long.above ? price.long : price
    const writeRate = rates.cacheWrite ?? rates.input
    const written = Math.max(own.cacheWrite, own.longCacheWrite)
    // Products of these exceed what a double holds exactly.
    const total =
      times(Math.max(0, own.input - own.cachedInput - written), rates.input) +
      times(own.cachedInput, rates.cachedInput ?? rates.input) +
      times(written - own.longCacheWrite, writeRate) +
      times(own.longCacheWrite, rates.longCacheWrite ?? writeRate) +
      times(own.output, rates.output)
    return Math.min(MAX_UNITS, others + Number((total + 999_999n) / 1_000_000n))
  },
  hasTier: (tier) => STANDARD_TIER.test(tier),
}

const times = (tokens: number, rate: number): bigint => BigInt(tokens) * BigInt(rate)

function frozen<Price extends ModelPrice | 'deny'>(price: Price): Price {
  const copy = structuredClone(price)
  Object.freeze((copy as ModelPrice).long)
  return Object.freeze(copy)
}
