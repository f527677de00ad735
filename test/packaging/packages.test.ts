import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { bundle } from '../support/bundle.ts'
import { isOurs, PUBLIC_PACKAGES } from './public-packages.ts'

describe.each(PUBLIC_PACKAGES)('$manifest.name as packed', ({ name, cwd }) => {
  it('passes publint without a suggestion', () => {
    expect(run('publint', ['--strict'], cwd)).toContain('All good!')
  })

  it('resolves its types in every ESM mode', () => {
    // It exits with an error, and `run` throws, on any problem outside the ignored CommonJS modes.
    expect(run('attw', ['--pack', '.', '--profile', 'esm-only'], cwd)).toContain(name)
  })
})

describe.each(PUBLIC_PACKAGES)('a dependency of $manifest.name', ({ manifest }) => {
  it('has a range that accepts fixes, so none of them waits for a release of ours', () => {
    const others = Object.entries(manifest.dependencies ?? {}).filter(([one]) => !isOurs(one))
    expect(others.filter(([, range]) => !/^\^\d/.test(range))).toEqual([])
  })
})

describe('the bundle of a Worker', () => {
  it('has the limiter with the Upstash store in at most 15.3 kB, gzipped', async () => {
    const { gzipped, inputs } = await bundle(`
      export { createLimiter, dailyCap, definePlans, slidingWindow } from '@sluice/core'
      export { upstash } from '@sluice/core/upstash'`)
    expect(inputs.filter((path) => !path.startsWith('packages/core/dist/'))).toEqual([])
    expect(gzipped).toBeLessThanOrEqual(15_300)
  })

  it('has the whole adapter in at most 22.0 kB, gzipped, and no Node module', async () => {
    const { gzipped, inputs } = await bundle(`
      export { createLimiter, dailyCap, definePlans, slidingWindow } from '@sluice/core'
      export { upstash } from '@sluice/core/upstash'
      export { rateLimit } from '@sluice/cloudflare'`)
    const allowed = /^packages\/(core|cloudflare)\/dist\//
    expect(inputs.filter((path) => !allowed.test(path))).toEqual([])
    expect(gzipped).toBeLessThanOrEqual(22_000)
  })
})

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
