/* A vendor's bill as CSV, with which prices are compared. */
import type { Prices } from '@sluice/ai'
import { unitsText } from '@sluice/core/internal/text'
import { refuse } from '../errors.ts'
import type { Finding } from './finding.ts'

export interface PriceFinding {
  readonly code: 'price_missing' | 'price_low' | Finding['code']
  readonly text: string
  readonly remedy: string
}

const COLUMNS = ['model', 'input', 'output', 'cost'] as const

/** Returns the models of a bill that cost more than the prices say. @throws CommandError */
export function lowerThanBill(csv: string, prices: Prices): PriceFinding[] {
  const [head = '', ...lines] = csv.trim().split(/\r?\n/)
  const names = cellsOf(head).map((name) => name.toLowerCase())
  const missing = COLUMNS.find((name) => !names.includes(name))
  if (missing !== undefined) refuse(`the bill has no column "${missing}"`)
  return lines.flatMap((line, index): PriceFinding[] => {
    const cells = cellsOf(line)
    const [model = '', ...texts] = COLUMNS.map((name) => cells[names.indexOf(name)] ?? '')
    const [input = 0, output = 0, cost = 0] = texts.map((text) => Number(text.replace('$', '')))
    if (![input, output, cost].every((value) => value >= 0))
      refuse(`line ${index + 2} of the bill must have numbers from 0`)
    const billed = Math.floor(cost * 1_000_000)
    if (prices.nameOf(model) === undefined) return [missingPrice(model)]
    const priced = prices.priceOf({ input, output }, model)
    if (billed <= priced) return []
    const text = `${model} is billed at ${unitsText(billed, 'usd')}, and priced at ${unitsText(priced, 'usd')}`
    const remedy = 'set its price, or find out what else is on the bill'
    return [{ code: 'price_low', text, remedy }]
  })
}

const missingPrice = (model: string): PriceFinding => ({
  code: 'price_missing',
  text: `${model} (the bill) has no price`,
  remedy: 'set it, or list it by definePrices',
})

const cellsOf = (line: string): string[] =>
  line.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))
