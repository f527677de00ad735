/* The prices of models by two public sources. */
import { calcPrice } from '@pydantic/genai-prices'
import { priceOf, type Prices } from '@sluice/ai'
import { rowsOfModelsDev } from '../../../scripts/prices/models-dev.ts'
import type { Row } from '../../../scripts/prices/rows.ts'
import { PUBLISHED } from '../../../scripts/prices/vendors.ts'

/** Tokens of a call. Cached input and cache writes are part of the input. */
export interface Tokens {
  readonly input: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
}

/** Calls of each kind of price: short, from a cache, into one, and longer than where a price rises. */
export const USAGES: readonly Tokens[] = [
  { input: 90_000, cachedInput: 0, cacheWrite: 0, output: 20_000 },
  { input: 90_000, cachedInput: 40_000, cacheWrite: 0, output: 20_000 },
  { input: 90_000, cachedInput: 0, cacheWrite: 30_000, output: 20_000 },
  { input: 400_000, cachedInput: 0, cacheWrite: 0, output: 50_000 },
  { input: 400_000, cachedInput: 200_000, cacheWrite: 0, output: 50_000 },
]

/** The ids of vendors in the package. */
const PROVIDERS: Readonly<Record<string, string>> = {
  bedrock: 'aws',
  moonshot: 'moonshotai',
  'workers-ai': 'cloudflare',
  xai: 'x-ai',
}

/** Returns the table of a vendor, as its entry exports it. */
export async function tableOf(vendor: string): Promise<Prices> {
  const exported = (await import(`@sluice/ai/prices/${vendor}`)) as Record<string, Prices>
  const [entry, ...others] = Object.entries(exported)
  const name = `${vendor.toUpperCase().replaceAll('-', '_')}_PRICES`
  if (entry?.[0] !== name || others.length > 0) throw new Error(`${vendor} exports ${name} alone`)
  return entry[1]
}

const HOUR_MS = 3_600_000
/** The hours of the day of the package. */
const HOURS = Array.from(
  { length: 24 },
  (_, hour) => new Date(Date.parse(PUBLISHED.asOf) + hour * HOUR_MS),
)

/**
 * Returns the micro-dollars that the package calculates, at the hour that costs most; `undefined` where it has no price, or
 * none for what comes from a cache.
 */
export function billedByPackage(vendor: string, model: string, usage: Tokens): number | undefined {
  const total = totalOfPackage(vendor, model, usage)
  const isKnown =
    usage.cachedInput === 0 || total !== totalOfPackage(vendor, model, { ...usage, cachedInput: 0 })
  return isKnown ? total : undefined
}

function totalOfPackage(vendor: string, model: string, usage: Tokens): number | undefined {
  const tokens = {
    input_tokens: usage.input,
    cache_read_tokens: usage.cachedInput,
    cache_write_tokens: usage.cacheWrite,
    output_tokens: usage.output,
  }
  const providerId = PROVIDERS[vendor] ?? vendor
  const totals = HOURS.flatMap((timestamp) => {
    const price = calcPrice(tokens, model, { providerId, timestamp })
    return price ? [price.total_price * 1e6] : []
  })
  return totals.length > 0 ? Math.max(...totals) : undefined
}

/** Returns the micro-dollars that models.dev's prices make; `undefined` without a price of what is counted. */
export function billedByModelsDev(
  vendor: string,
  model: string,
  { input, cachedInput, cacheWrite, output }: Tokens,
): number | undefined {
  const rows = rowsOfModelsDev(vendor).get(model)
  const isLong = rows?.long && input > (rows.above ?? 0)
  const [own, cached, out, write]: Row = (isLong ? rows.long : rows?.usual) ?? []
  if (own === undefined || (cachedInput > 0 && cached === null)) return undefined
  const rate = own ?? 0
  const fresh = input - cachedInput - cacheWrite
  return (
    fresh * rate +
    cachedInput * (cached ?? rate) +
    cacheWrite * (write ?? rate) +
    output * (out ?? 0)
  )
}

/** Returns the micro-dollars that a table charges. */
export const charged = (table: Prices, model: string, usage: Tokens): number =>
  priceOf(usage, model, table)
