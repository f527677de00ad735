/* The formats of public lists of prices: genai-prices', LiteLLM's and models.dev's JSON. */
import { isObject, type Json } from '../json.ts'
import { RATES } from '../prices/price-rules.ts'
import type { ModelPrice, Rates } from '../prices/prices.ts'

/** Micro-dollars of a million tokens for a dollar of a million, and for a dollar of one. */
const OF_MILLION = 1_000_000
const OF_ONE = 1_000_000_000_000

/** Models that count tokens of sound or pictures, too. */
const OTHER_KIND = /audio|tts|image|realtime|transcri|whisper|video/

/** The rates of a feed, in its own unit, before they are checked. */
type RawRates = Readonly<Record<keyof Rates, unknown>>

interface RawPrice {
  readonly usual: RawRates
  readonly above?: unknown
  readonly long?: RawRates | undefined
}

type RawPrices = [model: string, price: RawPrice][]

/**
 * Reads a feed: the prices of vendors, by model, in micro-dollars. Models without a price of text are left out.
 *
 * @param vendors The vendors, as the feed names them.
 * @param now Milliseconds since the Unix epoch, for prices that begin later.
 * @throws Error When it is malformed; the message says where.
 */
export function pricesInFeed(
  text: string,
  vendors: readonly string[],
  source: string,
  now: number,
): Map<string, ModelPrice> {
  const [unit, raw] = rawPrices(text, vendors, now)
  const asOf = new Date(now).toISOString().slice(0, 10)
  const prices = new Map<string, ModelPrice>()
  for (const [model, { usual, above, long }] of raw) {
    if (OTHER_KIND.test(model)) continue
    const rates = ratesOf(model, usual, unit)
    const price = {
      ...rates,
      ...(long && {
        long: { above: countOf(model, above), ...ratesOf(model, { ...usual, ...long }, unit) },
      }),
      asOf,
      source,
    }
    // A model that is free is listed by hand.
    if (rates.input === 0 && rates.output === 0) continue
    const name = model.toLowerCase()
    const other = prices.get(name)
    if (!other || other.output < price.output) prices.set(name, price)
  }
  if (prices.size === 0) throw new Error(`has no prices of ${vendors.join(', ')}`)
  return prices
}

function rawPrices(text: string, vendors: readonly string[], now: number): [number, RawPrices] {
  let feed: unknown
  try {
    feed = JSON.parse(text)
  } catch {
    throw new Error('must be JSON')
  }
  if (Array.isArray(feed)) return [OF_MILLION, fromGenaiPrices(feed, vendors, now)]
  if (!isObject(feed)) throw new Error('must be a list of prices')
  return vendors.some((vendor) => isObject(feed[vendor]))
    ? [OF_MILLION, fromModelsDev(feed, vendors)]
    : [OF_ONE, fromLiteLlm(feed, vendors)]
}

const objects = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter((one) => isObject(one)) : []

/** A list of providers, each with models whose rates are `input_mtok` and so on, or lists of such by date. */
function fromGenaiPrices(
  feed: readonly unknown[],
  vendors: readonly string[],
  now: number,
): RawPrices {
  const providers = objects(feed).filter(({ id }) => vendors.includes(String(id)))
  return providers.flatMap(({ models }) =>
    objects(models).flatMap(({ id, match, prices }): RawPrices => {
      const rates = datedRates(prices, now)
      if (!rates.some((one) => 'input_mtok' in one)) return []
      const price = highest(rates.map(genaiPrice))
      return [String(id), ...equalNames(match)].map((name) => [name, price])
    }),
  )
}

/** Returns the rates of today, and those of later and of hours, of which the highest applies. */
function datedRates(prices: unknown, now: number): Json[] {
  if (isObject(prices)) return [prices]
  const today = new Date(now).toISOString().slice(0, 10)
  const dated = objects(prices).map(({ constraint, prices: rates }) => {
    const start = isObject(constraint) ? constraint['start_date'] : ''
    const isPast = typeof start === 'string' && start <= today
    return { isPast, rates: isObject(rates) ? rates : {} }
  })
  const past = dated.filter(({ isPast }) => isPast).slice(-1)
  return [...past, ...dated.filter(({ isPast }) => !isPast)].map(({ rates }) => rates)
}

function genaiPrice(rates: Json): RawPrice {
  const starts: number[] = []
  const at = (name: string, isLong: boolean): unknown => {
    const value = rates[name]
    if (!isObject(value)) return value
    const tiers = objects(value['tiers'])
    starts.push(...tiers.map(({ start }) => Number(start)))
    const all = tiers.map(({ price }) => Number(price))
    return isLong && all.length > 0 ? Math.max(...all) : value['base']
  }
  const ratesAt = (isLong: boolean): RawRates => ({
    input: at('input_mtok', isLong),
    cachedInput: at('cache_read_mtok', isLong),
    cacheWrite: at('cache_write_mtok', isLong),
    longCacheWrite: at('cache_write_1h_mtok', isLong),
    output: at('output_mtok', isLong) ?? 0,
  })
  const [usual, long] = [ratesAt(false), ratesAt(true)]
  return starts.length > 0 ? { usual, above: Math.min(...starts), long } : { usual }
}

/** Returns the highest of several prices, of each kind of token. */
function highest(prices: readonly RawPrice[]): RawPrice {
  const usual = highestRates(prices.map((price) => price.usual))
  if (!prices.some(({ long }) => long)) return { usual }
  const starts = prices.flatMap(({ above }) => (above === undefined ? [] : [Number(above)]))
  const long = highestRates(prices.map((price) => price.long ?? price.usual))
  return { usual, above: Math.min(...starts), long }
}

function highestRates(all: readonly RawRates[]): RawRates {
  const rates = RATES.map((kind) => {
    const values = all.map((one) => one[kind]).filter((value) => value !== undefined)
    return [kind, values.length > 1 ? Math.max(...values.map(Number)) : values[0]]
  })
  return Object.fromEntries(rates) as RawRates
}

/** Returns the names that a rule states in full. Those that it matches by a part would be names of other models, too. */
function equalNames(match: unknown): string[] {
  if (!isObject(match)) return []
  if (typeof match['equals'] === 'string') return [match['equals']]
  return objects(match['or']).flatMap(equalNames)
}

/** Vendors by id, each with models whose `cost` is by million, and that of a long input in `tiers`. */
function fromModelsDev(feed: Json, vendors: readonly string[]): RawPrices {
  return vendors.flatMap((vendor) => {
    const models = (isObject(feed[vendor]) ? feed[vendor] : {})['models']
    return Object.entries(isObject(models) ? models : {}).flatMap(([id, model]): RawPrices => {
      const cost = isObject(model) ? model['cost'] : undefined
      if (!isObject(cost)) return []
      const tiers = objects(cost['tiers'])
        .flatMap(({ tier, ...rates }) =>
          isObject(tier) && tier['type'] === 'context' ? [{ size: tier['size'], rates }] : [],
        )
        .toSorted((one, other) => Number(one.size) - Number(other.size))
      const older = isObject(cost['context_over_200k']) ? cost['context_over_200k'] : undefined
      // Of several lengths, the least has the rates of the longest.
      const long = tiers.at(-1)?.rates ?? older
      const above = tiers[0]?.size ?? 200_000
      return [
        [id, { usual: modelsDevRates(cost), ...(long && { above, long: modelsDevRates(long) }) }],
      ]
    })
  })
}

const modelsDevRates = (cost: Json): RawRates => ({
  input: cost['input'],
  cachedInput: cost['cache_read'],
  cacheWrite: cost['cache_write'],
  longCacheWrite: undefined,
  output: cost['output'],
})

const LONG = /^input_cost_per_token_above_(\d+)k_tokens$/

const USUAL_MODES: ReadonlySet<unknown> = new Set([
  'chat',
  'completion',
  'responses',
  'embedding',
  undefined,
])

/** Models by name, each with `litellm_provider` and costs by token; the name may begin with the provider. */
function fromLiteLlm(feed: Json, vendors: readonly string[]): RawPrices {
  return Object.entries(feed).flatMap(([name, model]): RawPrices => {
    if (!isObject(model) || !vendors.includes(String(model['litellm_provider']))) return []
    if (!USUAL_MODES.has(model['mode'])) return []
    if (model['input_cost_per_token'] == null || model['output_cost_per_token'] == null) return []
    const lengths = Object.keys(model)
      .flatMap((key) => LONG.exec(key)?.[1] ?? [])
      .toSorted((a, b) => Number(a) - Number(b))
    const rates = (suffix: string): RawRates => ({
      input: model[`input_cost_per_token${suffix}`],
      cachedInput: model[`cache_read_input_token_cost${suffix}`],
      cacheWrite: model[`cache_creation_input_token_cost${suffix}`],
      longCacheWrite:
        suffix === '' ? model['cache_creation_input_token_cost_above_1hr'] : undefined,
      output: model[`output_cost_per_token${suffix}`],
    })
    const long = lengths.length > 0 ? rates(`_above_${lengths.at(-1)}k_tokens`) : undefined
    const id = name.startsWith(`${String(model['litellm_provider'])}/`)
      ? name.slice(name.indexOf('/') + 1)
      : name
    return [[id, { usual: rates(''), ...(long && { above: Number(lengths[0]) * 1_000, long }) }]]
  })
}

/** Returns rates in whole micro-dollars, rounded up. @throws Error When one is no price. */
function ratesOf(model: string, raw: RawRates, unit: number): Rates {
  const rates = Object.entries(raw).flatMap(([name, value]) => {
    if (value == null) return []
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) {
      // A double that is next to a whole number is that number.
      return [[name, Math.ceil(value * unit - 1e-3)] as const]
    }
    throw new Error(`has no price of ${quoted(model)}: ${name} must be a number from 0`)
  })
  const { input, output, ...others } = Object.fromEntries(rates) as Partial<Rates>
  if (input === undefined || output === undefined) {
    throw new Error(`has no price of ${quoted(model)}: input and output must be given`)
  }
  return { input, output, ...others }
}

function countOf(model: string, value: unknown): number {
  if (Number.isSafeInteger(value) && Number(value) > 0) return Number(value)
  throw new Error(`has a price of ${quoted(model)} from no length on`)
}

const quoted = (model: string): string => JSON.stringify(model.slice(0, 64))
