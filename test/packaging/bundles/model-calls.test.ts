import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { VENDORS } from '../../../scripts/prices/vendors.ts'
import { bundle } from '../../support/bundle.ts'
import { tableOf } from '../../support/markdown.ts'

const page = ['metering', 'prices']
  .map((name) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8'))
  .join('\n')
const published = [...tableOf(page, 'in the bundle')].map(([names, row]) => ({
  names,
  kb: Number(row['kB, gzipped']),
}))

const besideCore = [...tableOf(page, 'added to the core')].map(([name, row]) => ({
  name,
  kb: Number(row['kB, gzipped']),
}))

const besideMeter = [...tableOf(page, 'added to meter')].map(([name, row]) => ({
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
  expect(kb).toBeLessThanOrEqual(9.5)
})

it.each(besideCore)('$name adds to the core as much as the page states', async ({ name, kb }) => {
  const code = `export { ${name} } from '@sluice/ai'`
  const { gzipped, inputs } = await bundle(code, ['@sluice/core', '@sluice/core/*'])
  expect(inputs.filter((path) => !path.startsWith('packages/ai/dist/'))).toEqual([])
  expect(gzipped).toBeLessThanOrEqual(kb * 1_000)
  expect(gzipped).toBeGreaterThan(kb * 900)
  expect(kb).toBeLessThanOrEqual(13.3)
})

const tables = [...tableOf(page, 'import from')].map(([name, row]) => ({
  path: name.replaceAll('`', ''),
  table: row['table']?.replaceAll('`', '') ?? '',
  kb: Number(row['kB, gzipped']),
}))

it.each(tables)(
  '$table adds to definePrices as much as the page states',
  async ({ path, table, kb }) => {
    const alone = await bundle("export { definePrices, priceOf } from '@sluice/ai'")
    const { gzipped } = await bundle(
      `export { definePrices, priceOf } from '@sluice/ai'; export { ${table} } from '${path}'`,
    )
    const added = gzipped - alone.gzipped
    expect(added).toBeLessThanOrEqual(kb * 1_000)
    expect(added).toBeGreaterThan(kb * 1_000 - 200)
    expect(kb).toBeLessThanOrEqual(2)
  },
)

it('the page lists each table', () => {
  expect(tables.map(({ path }) => path)).toEqual(
    [...Object.keys(VENDORS), 'azure'].map((vendor) => `@sluice/ai/prices/${vendor}`),
  )
})

const METER = "export { meter } from '@sluice/ai'"

it.each(besideMeter)('$name adds to a meter as much as the page states', async ({ name, kb }) => {
  const meter = await bundle(METER)
  const both = await bundle(`${METER}; export { ${name} } from '@sluice/ai/formats'`)
  const added = both.gzipped - meter.gzipped
  expect(added).toBeLessThanOrEqual(kb * 1_000)
  expect(added).toBeGreaterThan(kb * 1_000 - 100)
  // The format itself, and parts that formats share, but no other format.
  const others = besideMeter
    .filter((other) => other.name !== name)
    .map((other) => fileOf(other.name))
  expect(both.kept.filter((path) => others.some((file) => path.endsWith(file)))).toEqual([])
})

it('a meter has none of the formats that the page lists', async () => {
  const { inputs } = await bundle(METER)
  const files = besideMeter.map(({ name }) => fileOf(name))
  expect(files).toHaveLength(7)
  expect(inputs.filter((path) => files.some((file) => path.endsWith(file)))).toEqual([])
})

/** The file of a format: `formats/workers-ai.js` of `workersAi`. */
function fileOf(name: string): string {
  return `formats/${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.js`
}
