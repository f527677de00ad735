import { readFileSync } from 'node:fs'
import * as formats from '@sluice/ai/formats'
import { describe, expect, it } from 'vitest'
import { VENDORS } from '../../../scripts/prices/vendors.ts'
import { bundle } from '../../support/bundle.ts'
import { tableOf } from '../../support/markdown.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const page = read('packages/ai/README.md')
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

/** The least and the most kilobytes that a page states. */
function rangeOf(text: string): { least: number; most: number } {
  const [, least, most] = /([\d.]+) to ([\d.]+) kB/.exec(text) ?? []
  return { least: Number(least), most: Number(most) }
}

/** Gzipped bytes as kilobytes of one decimal, rounded up, as the pages write them. */
const kilobytes = (bytes: number): number => Math.ceil(bytes / 100) / 10

describe('the tables of vendors', () => {
  const prices = read('docs/prices.md')
  const vendors = [...Object.keys(VENDORS), 'azure']

  it('are listed on the page of prices', () => {
    const [, list = ''] = /`@sluice\/ai\/prices\/…`:([^.]*)\./.exec(prices) ?? []
    const listed = Array.from(list.matchAll(/`([\w-]+)`/g), ([, vendor]) => vendor)
    expect(new Set(listed)).toEqual(new Set(vendors))
  })

  it('add to definePrices as much as the page states', async () => {
    const priced = "export { definePrices, priceOf } from '@sluice/ai'"
    const alone = await bundle(priced)
    const sizes: number[] = []
    for (const vendor of vendors) {
      const table = `${vendor.replaceAll('-', '_').toUpperCase()}_PRICES`
      const both = await bundle(`${priced}; export { ${table} } from '@sluice/ai/prices/${vendor}'`)
      sizes.push(kilobytes(both.gzipped - alone.gzipped))
    }
    const { least, most } = rangeOf(prices)
    expect({ least, most }).toEqual({ least: Math.min(...sizes), most: Math.max(...sizes) })
    expect(most).toBeLessThanOrEqual(2)
  })
})

describe('the formats of answers', () => {
  const METER = "export { meter } from '@sluice/ai'"
  const names = Object.keys(formats)

  it('add to a meter as much as the page states, and no other format', async () => {
    const meter = await bundle(METER)
    const sizes: number[] = []
    for (const name of names) {
      const both = await bundle(`${METER}; export { ${name} } from '@sluice/ai/formats'`)
      sizes.push(kilobytes(both.gzipped - meter.gzipped))
      const others = names.filter((other) => other !== name).map(fileOf)
      expect(both.kept.filter((path) => others.some((file) => path.endsWith(file)))).toEqual([])
    }
    const { least, most } = rangeOf(page)
    expect({ least, most }).toEqual({ least: Math.min(...sizes), most: Math.max(...sizes) })
  })

  it('are not in a meter', async () => {
    const { inputs } = await bundle(METER)
    const files = names.map(fileOf)
    expect(files).toHaveLength(7)
    expect(inputs.filter((path) => files.some((file) => path.endsWith(file)))).toEqual([])
  })
})

/** The file of a format: `formats/workers-ai.js` of `workersAi`. */
function fileOf(name: string): string {
  return `formats/${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.js`
}
