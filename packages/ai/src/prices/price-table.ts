import { definePrices, type ModelPrice, type Prices, type Rates } from './prices.ts'

/** Dollars per million tokens, as vendors print them; `null` for what has the default. */
type Row = readonly [
  input: number,
  cachedInput: number | null,
  output: number,
  cacheWrite?: number | null,
  longCacheWrite?: number | null,
]

/** Rows by name. Several names that have one price are separated by a blank; a longer input may have another row. */
export type Rows = Readonly<Record<string, Row | readonly [usual: Row, above: number, long: Row]>>

/** Creates a table of prices that are from one page. */
export const priceTable = (asOf: string, source: string, rows: Rows): Prices =>
  definePrices(pricesOfRows(asOf, source, rows))

/** Returns the prices of these rows by model, in micro-dollars. */
export function pricesOfRows(asOf: string, source: string, rows: Rows): Record<string, ModelPrice> {
  const models: Record<string, ModelPrice> = {}
  for (const [names, row] of Object.entries(rows)) {
    const [usual, above = 0, long] = isRow(row) ? [row] : row
    const price: ModelPrice = {
      ...ratesOf(usual),
      ...(long && { long: { above, ...ratesOf(long) } }),
      asOf,
      source,
    }
    for (const name of names.split(' ')) models[name] = price
  }
  return models
}

const isRow = (row: Rows[string]): row is Row => typeof row[0] === 'number'

const KINDS = ['input', 'cachedInput', 'output', 'cacheWrite', 'longCacheWrite'] as const

function ratesOf(row: Row): Rates {
  const rates: Record<string, number> = {}
  KINDS.forEach((kind, index) => {
    const dollars = row[index]
    // Micro-dollars: 0.075 dollars are 75_000, and not 74_999.99.
    if (dollars != null) rates[kind] = Math.round(dollars * 1_000_000)
  })
  return rates as unknown as Rates
}
