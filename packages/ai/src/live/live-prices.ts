import type { Extension } from '@sluice/core'
import {
  assertFunction,
  assertName,
  assertOptionRules,
  assertPositiveInteger,
  assertTexts,
  oneOf,
  type OptionRules,
} from '@sluice/core/internal'
import { assertPrices } from '../prices/price-rules.ts'
import { definePrices, type Prices } from '../prices/prices.ts'
import { isolatePull } from './isolate-pull.ts'
import { PriceCopy } from './price-copy.ts'
import { assertFeedUrl } from './read-feed.ts'

/** Options of `livePrices`. */
export interface LivePricesOptions {
  /** The prices of models that nobody has set while the app runs, such as `LIST_PRICES`. */
  readonly base: Prices
  /** The name of the record in the store. Limiters with the same name share it. @default 'default' */
  readonly name?: string
  /** True to take prices that are lower than those of `base`. @default false: they are ignored, and reported */
  readonly allowLower?: boolean
  /**
   * The address of a public list of prices: genai-prices', LiteLLM's or models.dev's JSON. One isolate pulls it every 10
   * minutes into the record. @default none: by `pullPrices`, or `sluice prices pull`, alone
   */
  readonly url?: string
  /** The vendors to take from such a list, as it names them. @default ['openai', 'anthropic'] */
  readonly vendors?: readonly string[]
  /** The longest time for reading the list, in milliseconds. @default 10_000 */
  readonly timeoutMs?: number
  /** Reads the list. @default fetch */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** Prices that change while the app runs: for the `extensions` of a limiter, and for `prices` of its model calls. */
export type LivePrices = Prices & Extension

const RULES: OptionRules<LivePricesOptions> = {
  base: assertPrices,
  name: assertName,
  allowLower: oneOf(true, false),
  url: assertFeedUrl,
  vendors: assertTexts,
  timeoutMs: assertPositiveInteger,
  fetch: assertFunction,
}

/**
 * Prices that change while the app runs, without a deployment. They are kept in the limiter's store, in the hash
 * `prices:<name>`. Isolates look there once a minute, along with a decision. A call settles at the higher price of
 * when it began and of when it ends.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * const prices = livePrices({ base: LIST_PRICES })
 * const limiter = createLimiter({ store: upstash(), policies, extensions: [prices] })
 * export const POST = modelHandler(limiter, { subject, prices }, openai)
 */
export function livePrices(options: LivePricesOptions): LivePrices {
  assertOptionRules('livePrices', options, RULES, 'base')
  const {
    base,
    name = 'default',
    allowLower = false,
    url = '',
    vendors = ['openai', 'anthropic'],
    timeoutMs = 10_000,
    fetch: read = (address, init) => fetch(address, init),
  } = options
  const feed = { url, vendors, timeoutMs, fetch: read }
  const pull = url === '' ? undefined : isolatePull()
  const copy = new PriceCopy(name, { base, allowLower }, feed, pull)
  return {
    ...definePrices({}, { base }),
    get: (model) => copy.prices.get(model) ?? base.get(model),
    models: () => new Map([...base.models(), ...copy.prices]),
    live: copy,
    ...copy.extension,
  }
}
