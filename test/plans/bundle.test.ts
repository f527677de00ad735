import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

/** The core's files of which something is left in a bundle. */
async function bundled(names: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: {
      contents: `export { ${names} } from '@sluice/core'`,
      resolveDir: fileURLToPath(new URL('..', import.meta.url)),
    },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
  })
  const inputs = Object.values(metafile.outputs)[0]?.inputs ?? {}
  return Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [path.replace(/^.*\/dist\//, '')] : [],
  )
}

const OPTIONAL = /^(plans\/plan-|configuration\/)/

describe('a Worker loads', () => {
  it.each([
    ['createLimiter, slidingWindow, definePlans', []],
    [
      'createLimiter, planResolver',
      ['plans/plan-records.js', 'plans/plan-resolver.js', 'plans/plan-search.js'],
    ],
    [
      'createLimiter, runtimeConfiguration',
      [
        'configuration/configuration-changes.js',
        'configuration/configuration-document.js',
        'configuration/configuration-record.js',
        'configuration/configuration.js',
        'configuration/settings.js',
      ],
    ],
  ])('of %s nothing that it does not use', async (names, files) => {
    const loaded = await bundled(names)
    expect(loaded).toContain('limiter.js')
    expect(loaded.filter((file) => OPTIONAL.test(file)).toSorted()).toEqual(files)
  })
})
