import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = readdirSync(join(root, 'examples'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

/** The code blocks of a page that begin with a comment with the name of their file. */
function filesOf(page: string): [file: string, code: string][] {
  const blocks = page.matchAll(/```\w+\n(?:\/\/|<!--) (\S+\.\w+)(?: -->)?\n([\s\S]*?)```/g)
  return Array.from(blocks, ([, file = '', code = '']) => [file, code])
}

const pages = globSync('docs/start/*.md', { cwd: root })
  .map((path) => ({ name: basename(path, '.md'), page: readFileSync(join(root, path), 'utf8') }))
  .filter(({ name }) => examples.includes(name))

it.each(pages)('the files on the page of $name are those of its example', ({ name, page }) => {
  const folder = join(root, 'examples', name)
  const files = filesOf(page).filter(([file]) => existsSync(join(folder, file)))
  expect(files.length).toBeGreaterThan(0)
  for (const [file, code] of files) expect(code).toBe(readFileSync(join(folder, file), 'utf8'))
})

it.each(examples)('the example %s names no registry, and installs these packages', (name) => {
  const lockfile = readFileSync(join(root, 'examples', name, 'package-lock.json'), 'utf8')
  expect(lockfile).not.toContain('"resolved": "http')
  expect(lockfile).toContain('"resolved": "file:../../packages/core"')
})
