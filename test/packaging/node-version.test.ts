import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const { satisfies } = createRequire(import.meta.url)('semver') as {
  readonly satisfies: (version: string, range: string) => boolean
}

interface Locked {
  readonly engines?: { readonly node?: string }
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

const { packages } = JSON.parse(read('package-lock.json')) as {
  readonly packages: Readonly<Record<string, Locked>>
}

/** The packages of which `npm ci` warns on a version of Node.js, on Linux and macOS of 64 bits. */
const excluding = (version: string): string[] =>
  Object.entries(packages)
    .filter(([, { cpu }]) => cpu === undefined || cpu.some((name) => name.endsWith('64')))
    .filter(([, { engines }]) => engines?.node && !satisfies(version, engines.node))
    .map(([path, { engines }]) => `${path} needs ${engines?.node}`)

const [, least = ''] = /Node (\d+\.\d+) or later/.exec(read('CONTRIBUTING.md')) ?? []

describe('the repository is developed without a warning', () => {
  it.each([`${least}.0`, '24.11.0', '26.0.0'])('of npm on Node.js %s', (version) => {
    expect(excluding(version)).toEqual([])
  })

  it('finds the packages that exclude a version', () => {
    expect(excluding('20.19.0').length).toBeGreaterThan(0)
  })

  it('is said in the README as in CONTRIBUTING.md', () => {
    expect(read('README.md')).toContain(`Node ${least} or later`)
  })
})
