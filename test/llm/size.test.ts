import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'

const page = readFileSync(new URL('../../docs/llm.md', import.meta.url), 'utf8')
const told = [...tableOf(page, 'in the bundle')].map(([bundle, row]) => ({
  bundle,
  kb: Number(row['kB, gzipped']),
}))

/** What the page calls all of it: everything that estimates, prices and meters. */
const ALL =
  'estimateTokens, tokenCounter, estimateRequest, definePrices, findPrice, priceOf, meter, meterStream, meterModel, usageOfAiSdk'

async function gzippedKb(names: string): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: `export { ${names} } from '@sluice/core/llm'`,
      resolveDir: fileURLToPath(new URL('..', import.meta.url)),
    },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd', 'worker', 'import'],
  })
  // Nothing but the core: no tokenizer, no SDK, no Node module, which esbuild would not find.
  const inputs = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>')
  expect(inputs.filter((path) => !path.includes('packages/core/dist/'))).toEqual([])
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length / 1_000
}

it.each(told)('a bundle of $bundle is as large as the page says', async ({ bundle, kb }) => {
  const size = await gzippedKb(bundle.startsWith('all') ? ALL : bundle)
  expect(size).toBeLessThanOrEqual(kb)
  expect(size).toBeGreaterThan(kb * 0.9)
  expect(kb).toBeLessThanOrEqual(8)
})
