import { LIST_PRICES, priceOf, type Prices } from '@sluice/ai'
import { expect, it } from 'vitest'
import { importBlock } from '../support/docs-block.ts'
import { MODELS } from '../support/models.ts'
import { pageFolder } from '../support/page-folder.ts'

it('prices with a margin are as the page says', async () => {
  const folder = await pageFolder('prices')
  const { prices } = await importBlock<{ prices: Prices }>(folder, 'prices.md', 'margin.ts')
  const usage = { input: 1_000, output: 200 }
  const costs = [LIST_PRICES, prices].map((table) => priceOf(usage, MODELS.openai, table))
  expect(costs).toEqual([4_000, 6_000])
})
