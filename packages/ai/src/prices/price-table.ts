import { definePrices, type ModelPrice, type Prices, type Rates } from './prices.ts'

/** Dollars per million tokens, as vendors print them; `null` for what has the default. */
type Row = readonly [
  input: number,
  cachedInput: number | null,
  output: number,
  cacheWrite?: number | null,
  longCacheWrite?: number | null,
]

/** A row, and that of a longer input: where it is left out, twice the row, and one and a half times its output. */
type LongRow = readonly [usual: Row, above: number, long?: Row]

/** Rows by name. Several names that have one price are separated by a blank. */
export type Rows = Readonly<Record<string, Row | LongRow>>

/**
 * Creates a vendor's table of prices.
 *
 * @param pages The rows of each source: the day on which a page was read, a blank and its address.
 * @param ends Names, separated by blanks, of the models that their vendor shuts down on a day.
 */
export function priceTable(
  pages: Readonly<Record<string, Rows>>,
  ends: Readonly<Record<string, string>> = {},
): Prices {
  const models: Record<string, ModelPrice> = {}
  for (const [page, rows] of Object.entries(pages)) {
    const [asOf, source] = page.split(' ') as [string, string]
    for (const [names, row] of Object.entries(rows)) {
      const [usual, above, long] = isRow(row) ? ([row] as const) : row
      const price: ModelPrice = {
        ...ratesOf(usual),
        ...(above && { long: { above, ...(long ? ratesOf(long) : ratesOf(usual, 2)) } }),
        asOf,
        source,
      }
      for (const name of names.split(' ')) models[name] = price
    }
  }
  for (const [endsOn, names] of Object.entries(ends)) {
    for (const name of names.split(' ')) models[name] = { ...models[name]!, endsOn }
  }
  return definePrices(models)
}

const isRow = (row: Rows[string]): row is Row => typeof row[0] === 'number'

const KINDS = ['input', 'cachedInput', 'output', 'cacheWrite', 'longCacheWrite'] as const

function ratesOf(row: Row, factor = 1): Rates {
  const rates: Record<string, number> = {}
  KINDS.forEach((kind, index) => {
    const dollars = row[index]
    const times = index === 2 ? (factor + 1) / 2 : factor
    // Micro-dollars: 0.075 dollars are 75_000, and not 74_999.99.
    if (dollars != null) rates[kind] = Math.round(dollars * times * 1_000_000)
  })
  return rates as unknown as Rates
}
