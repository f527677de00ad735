import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isOurs, PUBLIC_PACKAGES } from './public-packages.ts'

describe.each(PUBLIC_PACKAGES)('the package.json of $manifest.name', ({ name, cwd, manifest }) => {
  it('says what the package is for, in words that people search by', () => {
    expect(manifest.name).toBe(`@sluice/${name}`)
    expect(manifest.description).toMatch(/^[A-Z].{30,120}\.$/)
    expect(manifest.keywords?.length).toBeGreaterThanOrEqual(5)
    expect(new Set(manifest.keywords).size).toBe(manifest.keywords?.length)
    expect(manifest.keywords).toContain('rate-limiting')
  })

  it('says on what terms it may be used, and where it runs', () => {
    expect(manifest).toMatchObject({ license: 'MIT', type: 'module', engines: { node: '>=20' } })
    expect(readFileSync(join(cwd, 'LICENSE'), 'utf8')).toMatch(/^MIT License/)
  })

  it('lets a bundler drop what is not used', () => {
    expect(manifest.sideEffects).toBe(false)
  })

  it('ships only what it lists, and to everybody', () => {
    expect(manifest.files).toEqual(expect.arrayContaining(['dist', 'CHANGELOG.md', 'README.md']))
    // Not `provenance`: only a CI can give it, and publishing by hand would fail.
    expect(manifest.publishConfig).toEqual({ access: 'public' })
  })

  it('names the types of each entry before its code, because the first that fits is taken', () => {
    // The adapters have nothing in common that you would import: each framework is an entry.
    expect(Object.keys(manifest.exports)).toContain(name === 'adapters' ? './hono' : '.')
    for (const [entry, targets] of Object.entries(manifest.exports)) {
      // Without the server's part, for runtimes in which it would do nothing.
      const conditions = 'workerd' in targets ? ['workerd', 'edge-light'] : []
      expect([entry, ...Object.keys(targets)]).toEqual([entry, 'types', ...conditions, 'default'])
    }
  })

  it('names our packages by its own version exactly, because they share internals', () => {
    const named = { ...manifest.dependencies, ...manifest.peerDependencies }
    const ours = Object.entries(named).filter(([one]) => isOurs(one))
    expect(ours.filter(([, version]) => version !== manifest.version)).toEqual([])
    expect(ours.length > 0).toBe(!['core', 'local'].includes(name))
  })

  it('begins its README with its name, and its changelog too', () => {
    for (const page of ['README.md', 'CHANGELOG.md']) {
      expect(readFileSync(join(cwd, page), 'utf8').split('\n')[0]).toBe(`# ${manifest.name}`)
    }
  })
})

it('all packages have one version', () => {
  expect(new Set(PUBLIC_PACKAGES.map(({ manifest }) => manifest.version)).size).toBe(1)
})
