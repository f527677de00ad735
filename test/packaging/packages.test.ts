import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const PACKAGES = ['core', 'next', 'cloudflare', 'local']

describe.each(PACKAGES)('@sluice/%s as packed', (name) => {
  const cwd = `${root}/packages/${name}`

  it('passes publint', () => {
    expect(run('publint', ['--strict'], cwd)).toContain('All good!')
  })

  it('resolves its types in every ESM mode', () => {
    // It exits with an error, and `run` throws, on any problem outside the ignored CommonJS modes.
    expect(run('attw', ['--pack', '.', '--profile', 'esm-only'], cwd)).toContain(name)
  })

  it('ships its built files, a README and nothing else', () => {
    const [pack] = JSON.parse(
      run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], cwd),
    ) as [{ files: { path: string }[] }]
    const paths = pack.files.map((file) => file.path)
    expect(paths).toContain('README.md')
    expect(paths).toContain('dist/index.d.ts')
    expect(
      paths.filter((path) => !/^(dist\/|bin\/|(README\.md|LICENSE|package\.json)$)/.test(path)),
    ).toEqual([])
  })
})

describe('what a Worker bundles', () => {
  it('is the limiter with the Upstash store in at most 17 KB, gzipped', async () => {
    const { text, inputs } = await bundle(`
      export { createLimiter, dailyCap, definePlans, slidingWindow } from '@sluice/core'
      export { upstash } from '@sluice/core/upstash'`)
    expect(inputs.filter((path) => !path.startsWith('packages/core/dist/'))).toEqual([])
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(17_000)
  })

  it('is the whole adapter, router included, in at most 29 KB, gzipped, and no Node module', async () => {
    const { text, inputs } = await bundle(`
      export { createLimiter, dailyCap, definePlans, slidingWindow } from '@sluice/core'
      export { upstash } from '@sluice/core/upstash'
      export { rateLimit } from '@sluice/cloudflare'`)
    const allowed = /^(packages\/(core|cloudflare)\/dist\/|node_modules\/rou3\/)/
    expect(inputs.filter((path) => !allowed.test(path))).toEqual([])
    expect(gzipSync(text, { level: 9 }).length).toBeLessThanOrEqual(29_000)
  })
})

async function bundle(contents: string): Promise<{ text: string; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents, resolveDir: `${root}/test` },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    conditions: ['workerd', 'worker', 'import'],
  })
  // esbuild fails on an import that it cannot resolve, `node:` ones included.
  const inputs = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>')
  return { text: outputFiles[0]?.text ?? '', inputs }
}

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
