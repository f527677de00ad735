import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { EXAMPLES, madeFromExamples } from '../../scripts/start-pages.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

it.each([...madeFromExamples()])('%s has the code of the examples', (path, text) => {
  expect(read(path), 'make it anew: npm run docs:start').toBe(text)
})

it.each(EXAMPLES)('the example %s names no registry, and installs these packages', (name) => {
  const lockfile = read(`examples/${name}/package-lock.json`)
  expect(lockfile).not.toContain('"resolved": "http')
  expect(lockfile).toContain('"resolved": "file:../../packages/core"')
})
