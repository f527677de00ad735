import type { ModelPrice } from './prices.ts'

/** Returns so many percent of a price, rounded up. Without the day on which the model ends, which may be another there. */
export function scaledPrice(price: ModelPrice, percent: number): ModelPrice {
  const own = Object.entries(price).filter(([name]) => name !== 'endsOn')
  const fields = own.map(([name, value]: [string, unknown]) => {
    if (name === 'long') return [name, scaledPrice(value as ModelPrice, percent)]
    const isRate = typeof value === 'number' && name !== 'above'
    return [name, isRate ? Math.ceil((value * percent) / 100) : value]
  })
  return Object.fromEntries(fields) as ModelPrice
}
