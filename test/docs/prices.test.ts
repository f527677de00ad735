import { expect, it } from 'vitest'
import { importBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'

it('prices with a margin are as the page says', async () => {
  const page = await importBlock<{
    cost: number
    price: number
    bought: number
    creditsLeft: (available: number) => number
  }>(await pageFolder('prices'), 'prices.md', 'margin.ts')
  expect([page.cost, page.price, page.bought]).toEqual([4_000, 6_000, 5_000_000])
  expect(page.creditsLeft(4_999_999)).toBe(499)
})
