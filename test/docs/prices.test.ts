import { readFileSync } from 'node:fs'
import { LIST_PRICES, priceOf, type Prices } from '@sluice/ai'
import { expect, it } from 'vitest'
import { importBlock } from '../support/docs-block.ts'
import { MODELS } from '../support/models.ts'
import { pageFolder } from '../support/page-folder.ts'

it('the page says on which day the newest list price was read', () => {
  const page = readFileSync(new URL('../../docs/prices.md', import.meta.url), 'utf8')
  const days = [...LIST_PRICES.models().values()].map(({ asOf = '' }) => asOf).toSorted()
  expect(/last read on (\S+),/.exec(page)?.[1]).toBe(days.at(-1))
})

it('prices with a margin are as the page says', async () => {
  const folder = await pageFolder('prices')
  const { prices } = await importBlock<{ prices: Prices }>(folder, 'prices.md', 'margin.ts')
  const usage = { input: 1_000, output: 200 }
  const costs = [LIST_PRICES, prices].map((table) => priceOf(usage, MODELS.openai, table))
  expect(costs).toEqual([4_000, 6_000])
})
