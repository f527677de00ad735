import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bundle } from '../../support/bundle.ts'
import { tableOf } from '../../support/markdown.ts'

const page = readFileSync(new URL('../../../docs/llm.md', import.meta.url), 'utf8')
const published = [...tableOf(page, 'in the bundle')].map(([names, row]) => ({
  names,
  kb: Number(row['kB, gzipped']),
}))

const besideCore = [...tableOf(page, 'added to the core')].map(([name, row]) => ({
  name,
  kb: Number(row['kB, gzipped']),
}))

/** The names that the page calls "all": everything that estimates, prices and meters. */
const ALL =
  'estimateTokens, tokenCounter, estimateRequest, definePrices, findPrice, priceOf, meter, meterStream, meterModel, usageOfAiSdk'

it.each(published)('a bundle of $names is as large as the page states', async ({ names, kb }) => {
  const list = names.startsWith('all') ? ALL : names
  const { gzipped, inputs } = await bundle(`export { ${list} } from '@sluice/ai'`)
  // Nothing but the core: no tokenizer, no SDK.
  expect(inputs.filter((path) => !/^packages\/(ai|core)\/dist\//.test(path))).toEqual([])
  expect(gzipped).toBeLessThanOrEqual(kb * 1_000)
  expect(gzipped).toBeGreaterThan(kb * 900)
  expect(kb).toBeLessThanOrEqual(8.5)
})

it.each(besideCore)('$name adds to the core as much as the page states', async ({ name, kb }) => {
  const code = `export { ${name} } from '@sluice/ai'`
  const { gzipped, inputs } = await bundle(code, ['@sluice/core', '@sluice/core/*'])
  expect(inputs.filter((path) => !path.startsWith('packages/ai/dist/'))).toEqual([])
  expect(gzipped).toBeLessThanOrEqual(kb * 1_000)
  expect(gzipped).toBeGreaterThan(kb * 900)
  expect(kb).toBeLessThanOrEqual(12)
})
