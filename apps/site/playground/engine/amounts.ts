import { unitsText } from '@sluice/core/internal/text'

export const numberText = (count: number): string => count.toLocaleString('en-US')

/** Returns a number of units with their name: `1 request`, `100,000 requests`, `$1.50`. */
export const amountText = (count: number, unit: string): string =>
  unit === 'usd' ? unitsText(count, unit) : `${numberText(count)} ${unit}${count === 1 ? '' : 's'}`
