/* Prices of models as a command line writes and prints them: in dollars per million tokens. */
import type { ModelPrice } from '@sluice/ai'
import type { ChangedPrice } from '@sluice/ai/live-prices'
import { microDollarsOf } from '@sluice/core/internal/operator'
import { unitsText } from '@sluice/core/internal/text'
import { refuse } from './errors.ts'
import { pair } from './wording.ts'

const RATES = ['input', 'cachedInput', 'cacheWrite', 'longCacheWrite', 'output'] as const
const TEXTS = ['asOf', 'source', 'endsOn']

/**
 * Returns the price that a command line states, such as `input=$2 output=$12`. Rates of a long input have `long.` in
 * front, and `above` says from which length on they apply.
 *
 * @param today The day of the price, unless it has another.
 * @throws CommandError
 */
export function priceOfTexts(texts: readonly string[], today: string): ModelPrice {
  const price: Record<string, unknown> = { asOf: today }
  const long: Record<string, unknown> = {}
  for (const text of texts) {
    const [, part, name = '', value = ''] = /^(long\.)?(\w+)=(.+)$/.exec(text) ?? []
    const into = part === undefined && name !== 'above' ? price : long
    if (Object.hasOwn(into, name) && name !== 'asOf') refuse(`${name} is given twice`)
    if (TEXTS.includes(name) && into === price) price[name] = value
    else if (name === 'above' && /^[1-9]\d*$/.test(value)) long[name] = Number(value)
    else into[rateIn(name, text)] = dollarsIn(name, value)
  }
  return (Object.keys(long).length > 0 ? { ...price, long } : price) as unknown as ModelPrice
}

function rateIn(name: string, text: string): string {
  if (RATES.some((rate) => rate === name)) return name
  return refuse(
    `${text} must be a price, such as ${pair('input', '$2')}. There are ${RATES.join(', ')}, these with long. in front, above, ${TEXTS.join(', ')}`,
  )
}

function dollarsIn(name: string, value: string): number {
  const dollars = microDollarsOf(value)
  if (dollars !== undefined) return dollars
  return refuse(
    `${name} counts dollars per million tokens: write ${pair(name, `$${value.replace(/^\$/, '')}`)}, with the sign and in quotes`,
  )
}

export function priceText(price: ModelPrice | undefined): string {
  if (!price) return 'as in the code'
  const { long, asOf } = price
  const longer = long ? `; above ${long.above} tokens ${ratesText(long)}` : ''
  return `${ratesText(price)}${longer}${asOf === undefined ? '' : ` (${asOf})`}`
}

const ratesText = (rates: Partial<Record<(typeof RATES)[number], number>>): string =>
  RATES.flatMap((name) => {
    const rate = rates[name]
    return rate === undefined ? [] : [`${name} ${unitsText(rate, 'usd')}`]
  }).join(', ')

export const priceLine = ({ model, from, to }: ChangedPrice): string =>
  `${model}: ${priceText(from)} -> ${priceText(to)}`
