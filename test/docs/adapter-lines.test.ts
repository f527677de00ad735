import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

/** The most lines that the file in which an example limits its app may have. */
const MOST = [
  ['hono/server.ts', 8],
  ['express/server.ts', 10],
  ['sveltekit/src/hooks.server.ts', 8],
  ['mcp/tools.ts', 12],
] as const

/** The lines of a file of an example. The limits and the subject are your own files, whatever the framework. */
const linesOf = (file: string): number =>
  read(`examples/${file}`)
    .split('\n')
    .filter((line) => line !== '' && !line.includes("from '.")).length

it.each(MOST)('an app is limited by few lines: %s has at most %i', (file, most) => {
  expect(linesOf(file)).toBeGreaterThan(0)
  expect(linesOf(file)).toBeLessThanOrEqual(most)
})

it('the index lists a page for each example', () => {
  const pages = new Set(
    Array.from(
      read('docs/README.md').matchAll(/^- \[[^\]]+\]\((?:start\/)?([\w-]+)\.md\)/gm),
      ([, name = '']) => name,
    ),
  )
  const examples = readdirSync(new URL('../../examples', import.meta.url))
  expect(examples.filter((name) => !pages.has(name))).toEqual([])
})
