// The rows of a table: what a source says about a model, and the higher of what two say.
import type { ConditionalPrice, ModelInfo } from '@pydantic/genai-prices'

/** Dollars per million tokens: input, cached input, output, cache write, cache write for longer. */
export type Row = readonly (number | null)[]

/** The rows of a model: usual, and those of an input above a length. */
export interface ModelRows {
  readonly usual: Row
  readonly above?: number
  readonly long?: Row
}

const KINDS = [
  'input_mtok',
  'cache_read_mtok',
  'output_mtok',
  'cache_write_mtok',
  'cache_write_1h_mtok',
] as const

/** A price of something that is counted apart from tokens of text. Sound in the input is: doors refuse it. */
const OTHER_INPUT = /^(input|cache)_audio/
const OTHER_KIND = /audio|image|video|hours|requests/

type Prices = Extract<ModelInfo['prices'], unknown[]>[number]['prices']

const isHourly = ({ constraint }: ConditionalPrice): boolean => constraint?.type === 'time_of_date'

/** Returns the prices of a day and those announced for later, because a deployed bundle stays; also those by hour. */
function pricesOf(model: ModelInfo, asOf: string): Prices[] {
  if (!Array.isArray(model.prices)) return [model.prices]
  const isLater = ({ constraint }: ConditionalPrice): boolean =>
    constraint?.type === 'start_date' && constraint.start_date > asOf
  const past = model.prices.filter((price) => !isLater(price) && !isHourly(price))
  const others = model.prices.filter((price) => isLater(price) || isHourly(price))
  return [...past.slice(-1), ...others].map(({ prices }) => prices)
}

/** Returns the rows of a model of the package, or `undefined` if its price depends on more than tokens of text. */
export function rowsOf(model: ModelInfo, asOf: string): ModelRows | undefined {
  const all = pricesOf(model, asOf)
  const names = all
    .flatMap((prices) => Object.keys(prices))
    .filter((name) => !OTHER_INPUT.test(name))
  if (!names.includes('input_mtok') || names.some((name) => OTHER_KIND.test(name))) return undefined
  const highest = (kind: string, isLong: boolean): number | null => {
    const values = all.flatMap((prices) => {
      const price = prices[kind]
      if (price === undefined) return []
      if (typeof price === 'number') return [price]
      return isLong ? price.tiers.map((tier) => tier.price) : [price.base]
    })
    return values.length > 0 ? Math.max(...values) : null
  }
  const rowFor = (isLong: boolean): Row => {
    const [input, cached, output, ...writes] = KINDS.map((kind) => highest(kind, isLong))
    return trimmed([input ?? null, cached ?? null, output ?? 0, ...writes])
  }
  const starts = all.flatMap((prices) =>
    Object.values(prices).flatMap((price) => (typeof price === 'object' ? price.tiers : [])),
  )
  if (starts.length === 0) return { usual: rowFor(false) }
  const above = Math.min(...starts.map(({ start }) => start))
  return { usual: rowFor(false), above, long: rowFor(true) }
}

/** Returns the higher of what two sources say: a rate that one of them lacks is the other's. */
export function higherOf(one: ModelRows, other: ModelRows): ModelRows {
  const usual = higher(one.usual, other.usual)
  if (one.long === undefined && other.long === undefined) return { usual }
  return {
    usual,
    above: Math.min(one.above ?? Infinity, other.above ?? Infinity),
    long: higher(one.long ?? one.usual, other.long ?? other.usual),
  }
}

const higher = (one: Row, other: Row): Row =>
  trimmed(
    KINDS.map((_, kind) => (rateOf(one, kind) > rateOf(other, kind) ? one : other)[kind] ?? null),
  )

const rateOf = (row: Row, kind: number): number => row[kind] ?? -1

/** The surcharge of Bedrock and Vertex AI for a region over the worldwide price: a tenth. */
export const REGIONAL = 1.1

/** Returns the rows with this surcharge. */
export const dearer = (rows: ModelRows, factor: number): ModelRows =>
  eachRow(rows, (row) => row.map((rate) => rate && times(rate, factor)))

/** Returns the rows with writes to a cache for an hour at twice the price of input, unless they have a price. */
export const withHourlyCache = (rows: ModelRows): ModelRows =>
  eachRow(rows, ([input = 0, cached, output, write, hourly]) =>
    [input, cached, output, write, hourly ?? times(input ?? 0, 2)].map((rate) => rate ?? null),
  )

/** Micro-dollars, rounded up: 0.1 · 1.1 is 0.11, and not 0.110000001. */
export const times = (rate: number, factor: number): number =>
  Math.ceil(Number((rate * factor * 1e6).toFixed(3))) / 1e6

function eachRow({ usual, above, long }: ModelRows, change: (row: Row) => Row): ModelRows {
  if (above === undefined || long === undefined) return { usual: change(usual) }
  return { usual: change(usual), above, long: change(long) }
}

/** Returns the row without what is missing at its end, and a price of cache writes that is that of input. */
export function trimmed(row: Row): Row {
  const [input, , , write, hourly = null] = row
  const rates = write === input && hourly === null ? row.slice(0, 3) : row
  return rates.slice(0, Math.max(3, rates.findLastIndex((rate) => rate !== null) + 1))
}
