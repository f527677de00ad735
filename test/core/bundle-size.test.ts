import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'

const told = tableOf(
  readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8'),
  'in the bundle',
)

const OURS = "from '@sluice/core'; export { upstash } from '@sluice/core/upstash'"

/** What a Worker would import. */
const BUNDLES: Record<string, string> = {
  'createLimiter, slidingWindow, upstash': `export { createLimiter, slidingWindow } ${OURS}`,
  'the same, dailyCap and definePlans': `export { createLimiter, slidingWindow, dailyCap, definePlans } ${OURS}`,
  '@upstash/ratelimit and @upstash/redis':
    "export { Ratelimit } from '@upstash/ratelimit'; export { Redis } from '@upstash/redis/cloudflare'",
}

async function gzippedKb(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('..', import.meta.url)) },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    external: ['node:*', 'crypto'],
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length / 1_000
}

describe('a bundle of', () => {
  it.each(Object.entries(BUNDLES))('%s is as large as the page says', async (bundle, contents) => {
    const size = await gzippedKb(contents)
    const page = Number(told.get(bundle)?.['kB, gzipped'])
    expect(size).toBeLessThanOrEqual(page)
    expect(size).toBeGreaterThan(page * 0.9)
  })
})
