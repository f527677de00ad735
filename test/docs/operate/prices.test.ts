import { LIST_PRICES, priceOf, type Prices } from '@sluice/ai'
import { flushUsage } from '@sluice/usage'
import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACME, createOperator, type Operator } from '../../cli/operator.ts'
import { removeProjects } from '../../cli/project.ts'
import { importBlock } from '../../support/docs-block.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { readPage, runsPage } from './run-page.ts'
import { MODELS } from '../../support/models.ts'

const redis = sharedRedisOverHttp()
const folder = mkdtempSync(fileURLToPath(new URL('prices-', import.meta.url)))
let operator: Operator
beforeAll(() => {
  operator = createOperator(redis.local)
})
afterAll(() => {
  removeProjects()
  rmSync(folder, { recursive: true, force: true })
})

const charge = (tenant: string, dollars: number) =>
  operator.running.check({ ...ACME, tenant }, { cost: { usd: dollars * 1_000_000 } })

/** Lets the limit of the code apply again. */
const endChange = () =>
  operator.app.sluice(['set', 'budget', 'until=null', '--tenant', 'acme', '--yes'])

runsPage(
  readPage('prices'),
  {
    async 'Correct the price'() {
      await charge('acme', 18)
      await charge('acme', 2)
      await charge('globex', 2)
      await flushUsage(operator.running)
    },
    'It was too low': async () => {},
    'It was too high': endChange,
    'Usage rows and bills': async () => {},
  },
  () => operator,
)

describe('the prices of the page', () => {
  it('are those of one model, and of the list for all others', async () => {
    const { prices } = await importBlock<{ prices: Prices }>(
      folder,
      'operate/prices.md',
      'prices.ts',
    )
    const usage = { input: 1_000_000, output: 100_000 }
    expect(priceOf(usage, MODELS.openai, prices)).toBe(3_750_000 + 1_500_000)
    const other = MODELS.openaiSmall
    expect(priceOf(usage, other, prices)).toBe(priceOf(usage, other, LIST_PRICES))
  })
})
