import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('each picture of the docs is on a page, with what it shows in words', () => {
  const pages = globSync('docs/**/*.md', { cwd: root }).map((page) =>
    readFileSync(join(root, page), 'utf8'),
  )
  const shown = pages.flatMap((page) =>
    Array.from(
      page.matchAll(/!\[[^\]]{20,}\]\((?:\.\.\/)*pictures\/([\w-]+\.svg)\)/g),
      ([, name]) => name,
    ),
  )
  expect(new Set(shown)).toEqual(new Set(readdirSync(join(root, 'docs/pictures'))))
})
