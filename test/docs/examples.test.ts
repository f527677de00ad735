import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { filesOf, START_PAGES, startPage } from './start-pages.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

const pages = START_PAGES.filter((name) => examples.includes(name))

it.each(pages)('the files on the page of %s are those of its example', (name) => {
  const folder = join(root, 'examples', name)
  const files = [...filesOf(startPage(name))].filter(([file]) => existsSync(join(folder, file)))
  expect(files.length).toBeGreaterThan(0)
  for (const [file, code] of files) expect(code).toBe(readFileSync(join(folder, file), 'utf8'))
})

it.each(examples)('the example %s names no registry, and installs these packages', (name) => {
  const lockfile = readFileSync(join(root, 'examples', name, 'package-lock.json'), 'utf8')
  expect(lockfile).not.toContain('"resolved": "http')
  expect(lockfile).toContain('"resolved": "file:../../packages/core"')
})
