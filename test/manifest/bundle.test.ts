import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const resolveDir = fileURLToPath(new URL('..', import.meta.url))

/** The files that end up in a Worker that imports this. */
async function bundled(contents: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents, resolveDir },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
  })
  const [output] = Object.values(metafile.outputs)
  return Object.entries(output?.inputs ?? {})
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([path]) => path)
}

it('a Worker without a manifest bundles none of it', async () => {
  const contents = `
    export { createLimiter, slidingWindow } from '@sluice/core'
    export { rateLimit } from '@sluice/cloudflare'`
  const inputs = await bundled(contents)
  expect(inputs.filter((path) => path.includes('/manifest'))).toEqual([])
  expect(inputs.filter((path) => path.includes('token-bucket'))).toEqual([])
  const whole = await bundled(`${contents}\nexport { defineManifest } from '@sluice/core/manifest'`)
  expect(whole.filter((path) => path.includes('/manifest/')).length).toBeGreaterThan(3)
})
