import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, it } from 'vitest'

const require = createRequire(import.meta.url)
const satisfies = require('semver/functions/satisfies') as (
  version: string,
  range: string,
) => boolean
const manifest = new URL('../../packages/next/package.json', import.meta.url)
const { peerDependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as {
  peerDependencies: { next: string }
}

it.each(['15.0.0', '15.1.7', '15.2.2', '15.2.3-canary.0'])(
  '@sluice/next does not accept Next.js %s, in which a header of a client skips the middleware',
  (version) => {
    expect(satisfies(version, peerDependencies.next)).toBe(false)
  },
)

it.each(['15.2.3', '15.5.18', '16.0.0', '16.4.5'])('@sluice/next accepts Next.js %s', (version) => {
  expect(satisfies(version, peerDependencies.next)).toBe(true)
})
